"""CT-Flow (arXiv 2603.00123): an agent that reads a volume through tools, step by step, around any model.

``protocol`` is the language of the messages, ``tools`` the tools and their store, ``policy`` who decides the next
step (a language model or a fixed clinical protocol), ``loop`` the conversation, ``trajectory`` its record, ``backend``
the stage's door.
"""
