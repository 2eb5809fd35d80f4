"""Loopback configurations of the DDS library, shared by the Python peers. No thenar here."""

import os

# As ChannelFactoryInitialize(1, "lo") of Unitree's SDK writes it: an interface, and nothing about peers or multicast.
SDK = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface name="lo" priority="default" multicast="default"/></Interfaces></General></Domain></CycloneDDS>"""
PEERS = """<CycloneDDS><Domain Id="any"><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
<Peers><Peer address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""
CONFIG = SDK if os.environ.get("PEER_CONFIG") == "sdk" else PEERS
