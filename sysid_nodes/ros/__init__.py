"""The only importer of rclpy and of messages: nodes and what they share."""
