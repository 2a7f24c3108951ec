"""What an app declares (handlers, jobs, dependencies), and the runtime of verbs and workers."""
