"""Result files and pages of the interval identifier."""
