import { memoryConversations } from "@proviso/runtime";
import { describeStore } from "./contract.ts";

describeStore("in memory", (clock) => memoryConversations({ clock }));
