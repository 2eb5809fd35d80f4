"""Unitree's DDS messages: types shared by bodies and hands, and one codec per device."""
