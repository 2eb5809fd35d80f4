"""XTypes identifiers of the types of hands, by which Cyclone DDS tells whether two types of one name are equal.

Our own ends announce a type's name only. Cyclone DDS 0.10, which the vendors' SDKs pin, takes 8-bit integers of an IDL
file for ``char`` and ``octet``: a C client compiled with it has another identifier than the vendors' own Python and C++
classes, would ask for our type to compare the two, and crash on the answer. Without type information it compares names.
The identifiers of those who write to us are looked at on our side instead.
"""

# The complete identifiers, in hex, that cyclonedds 11.0.1 computes of the vendors' IDL; those in the vendors' C++
# headers are the same. Second ones are of the same types by idlc of Cyclone 0.10.2. A test computes them anew.
TYPE_IDS = {
    "inspire::inspire_hand_ctrl": ("f2e8abe96a1e7c7a59b4bc9d322528", "f227368c01959db51eb939e536bce6"),
    "inspire::inspire_hand_state": ("f2edb080ff3591f63eff236703d22c", "f2f5a1806c79dfa25a34b8bb15180b"),
    "inspire::inspire_hand_touch": ("f24a4b52a5812d49d194c8616e430f",),
    "unitree_go::msg::dds_::MotorCmds_": ("f21136e81c0ff2d6d2d2d70ab92fc7", "f22ea87a3ac222ec386596036ece43"),
    "unitree_go::msg::dds_::MotorStates_": ("f2fb8d9c1220de676fad09d227620b", "f2b90aca9286ab4e3eae7638ef5ca9"),
    "unitree_hg::msg::dds_::LowCmd_": ("f2ef636a54656de1d49ca65377b07c", "f242b0283aa7e1bb592ec898a0dbed"),
    "unitree_hg::msg::dds_::LowState_": ("f2860cfa7cbdcd87fbdb066de53c1d", "f22be9706c9587e8d8afd8bfc6de7b"),
    "unitree_hg::msg::dds_::IMUState_": ("f27d4166754177d86fa27cd25b0403",),
    "unitree_hg::msg::dds_::HandCmd_": ("f23c1de971e83cba8855eae664e830", "f25c45f9f8b1e1c279a659521332b0"),
    "unitree_hg::msg::dds_::HandState_": ("f25601b12ec8261084b429c7f6c01e", "f2b9f2806966060fc0f913a47b8ab9"),
    "unitree_api::msg::dds_::Request_": ("f2e0b8af2406525eb7ba64b54d4e64", "f2c47a4429fcbf539486498753c48f"),
    "unitree_api::msg::dds_::Response_": ("f2aeb68b031dd71f5b0bc333d07ae6", "f2d1c32cc02214901a464a6c51325d"),
    "sensor_msgs::msg::dds_::JointState_": ("f223d58e12509dc1052cb7a79e165d",),
    "reflex_msgs::msg::dds_::Hand_": ("f21706ccbfae098ead4b7a70528f21",),
    "reflex_msgs::msg::dds_::Command_": ("f26974a055c2f65f8ff03ab8715490",),
    "reflex_msgs::msg::dds_::PoseCommand_": ("f28b71a7f73dc0056fd683b0567f0b",),
    "reflex_msgs::msg::dds_::VelocityCommand_": ("f2fb443a61f1575e2e8c4426a7c65f",),
    "reflex_msgs::msg::dds_::ForceCommand_": ("f2ca4b6bc63cacb6eb3f77bc452bde",),
    "reflex_msgs::msg::dds_::RawServoCommands_": ("f2854b023788f2952411f6713f45cf",),
    "reflex_msgs::msg::dds_::RadianServoCommands_": ("f2698dcaa00322ffd388d24f88d4cd",),
}
"""Identifiers of types whose messages have the bytes we expect, by the type's name: the vendor's own first."""
