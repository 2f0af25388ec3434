"""Result files and pages of certified motion."""
