"""What motors are like, from what they were told and what they read."""
