"""The tool loop: its pure step, both shells, and all of it against the simulator."""
