"""The hand as the retargeting solver sees it: joints, drives, collision hulls, anatomy."""
