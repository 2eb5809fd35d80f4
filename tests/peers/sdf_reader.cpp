// Reads a URDF or SDF file with libsdformat and prints what it found, one item a line. No thenar here.
// link NAME mass cx cy cz ixx iyy izz ixy ixz iyz x y z qw qx qy qz      (pose in the model, joints at zero)
// joint NAME parent child ax ay az lower upper effort velocity damping friction stiffness reference mimic
// sensor NAME type link collision
#include <iomanip>
#include <iostream>
#include <sdf/sdf.hh>

// The library's own way of printing vectors rounds them.
std::ostream &put(std::ostream &out, const ignition::math::Vector3d &v) {
  return out << v.X() << " " << v.Y() << " " << v.Z();
}

int main(int, char **argv) {
  sdf::Root root;
  const auto errors = root.Load(argv[1]);
  for (const auto &error : errors) std::cerr << error << "\n";
  const sdf::Model *model = root.Model();
  if (!errors.empty() || model == nullptr) return 1;
  std::cout << std::setprecision(17);
  auto sensor = [](const sdf::Sensor &s, const std::string &where) {
    std::string collision = "-";
    if (s.Element()->HasElement("contact"))
      collision = s.Element()->GetElement("contact")->Get<std::string>("collision");
    std::cout << "sensor " << s.Name() << " " << s.TypeStr() << " " << where << " " << collision << "\n";
  };
  for (uint64_t i = 0; i < model->LinkCount(); ++i) {
    const sdf::Link &link = *model->LinkByIndex(i);
    ignition::math::Pose3d pose;
    if (!link.SemanticPose().Resolve(pose, "__model__").empty()) return 1;
    const auto inertial = link.Inertial();
    const auto I = inertial.Moi();  // in the link's axes
    put(std::cout << "link " << link.Name() << " " << inertial.MassMatrix().Mass() << " ", inertial.Pose().Pos());
    std::cout << " " << I(0, 0) << " " << I(1, 1) << " " << I(2, 2) << " " << I(0, 1) << " " << I(0, 2) << " "
              << I(1, 2) << " ";
    put(std::cout, pose.Pos()) << " " << pose.Rot().W() << " " << pose.Rot().X() << " " << pose.Rot().Y() << " "
                               << pose.Rot().Z() << "\n";
    for (uint64_t j = 0; j < link.CollisionCount(); ++j)
      std::cout << "collision " << link.CollisionByIndex(j)->Name() << "\n";
    for (uint64_t j = 0; j < link.SensorCount(); ++j) sensor(*link.SensorByIndex(j), link.Name());
  }
  for (uint64_t i = 0; i < model->JointCount(); ++i) {
    const sdf::Joint &joint = *model->JointByIndex(i);
    for (uint64_t j = 0; j < joint.SensorCount(); ++j) sensor(*joint.SensorByIndex(j), joint.Name());
    const sdf::JointAxis *axis = joint.Axis();
    if (axis == nullptr) continue;
    const auto element = joint.Element()->GetElement("axis");
    std::string mimic = "-";
    if (element->HasElement("mimic")) {
      const auto m = element->GetElement("mimic");
      mimic = m->GetAttribute("joint")->GetAsString() + "," + m->GetElement("multiplier")->GetValue()->GetAsString() +
              "," + m->GetElement("offset")->GetValue()->GetAsString();
    }
    std::cout << "joint " << joint.Name() << " " << joint.ParentLinkName() << " " << joint.ChildLinkName() << " ";
    put(std::cout, axis->Xyz()) << " " << axis->Lower() << " " << axis->Upper() << " " << axis->Effort() << " "
              << axis->MaxVelocity() << " " << axis->Damping() << " " << axis->Friction() << " "
              << axis->SpringStiffness() << " " << axis->SpringReference() << " " << mimic << "\n";
  }
  return 0;
}
