"""The world: hands, motors and things to touch, stepped by MuJoCo."""
