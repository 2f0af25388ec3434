"""ROS messages as plain values, for nodes and for logs written without ROS."""
