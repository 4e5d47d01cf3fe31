"""A codec of 256 bytes and two special tokens, and the chat format over it: what needs no tokenizer to be trained."""

from sandmle.agents.chat.tokens import ChatMarkup

START, STOP = 256, 257


class Bytes:
    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(each for each in ids if each < START).decode(errors="replace")

    def special(self, name):
        return {"<|im_start|>": START, "<|im_end|>": STOP}.get(name)


RENDERER = ChatMarkup(Bytes())
