"""Result files and pages of PRIME."""
