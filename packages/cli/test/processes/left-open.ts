import { definePrompt } from "@proviso/core";
import { createServer } from "node:net";

// A module that opens something when it is loaded, and never closes it.
createServer().listen(0, "127.0.0.1");

export const prompt = definePrompt({ ns: "cli", key: "left-open", text: "Say yes." });
