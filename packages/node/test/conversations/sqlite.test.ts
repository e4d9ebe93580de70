import { sqliteConversations } from "@proviso/node";
import { onTestFinished } from "vitest";
import { describeStore } from "../../../runtime/test/conversations/contract.ts";
import { folder } from "./support.ts";

let files = 0;

describeStore("in an SQLite file", async (clock) => {
  const store = sqliteConversations(`${await folder()}/${files++}.sqlite`, { clock });
  onTestFinished(() => store.close());
  return store;
});
