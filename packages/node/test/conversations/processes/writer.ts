// node writer.ts <file> <id> <mode> …
// count <n>: adds so many messages one by one, waiting for its turn, and prints each revision.
// large: saves a growing conversation for ever, and prints each revision that was saved.
// hold: acquires with a lease of 300 ms, prints "held", and saves when it reads a line.
import { withConversation } from "@proviso/runtime";
import { ConversationError } from "@proviso/runtime";
import { sqliteConversations } from "@proviso/node";
import { once } from "node:events";

const [file = "", id = "", mode = "", count = "0"] = process.argv.slice(2);
using store = sqliteConversations(file);
const print = (text: unknown): void => void process.stdout.write(`${String(text)}\n`);
const said = (text: string) => ({ role: "user", text }) as const;

if (mode === "count") {
  for (let n = 0; n < Number(count); n++) {
    const add = withConversation(
      store,
      id,
      (conversation) => conversation.keep([...conversation.messages, said(`${process.pid} ${n}`)]),
      { waitMs: 60_000 },
    );
    await add;
    print(n);
  }
}
if (mode === "large") {
  const holding = withConversation(
    store,
    id,
    async (conversation) => {
      for (let n = 1; ; n++) {
        conversation.keep(Array.from({ length: 200 }, () => said(`${n} `.repeat(200))));
        await conversation.save();
        print(conversation.revision);
      }
    },
    { leaseMs: 500 },
  );
  await holding;
}
if (mode === "hold") {
  const holding = withConversation(
    store,
    id,
    async (conversation) => {
      print("held");
      await once(process.stdin, "data");
      conversation.keep([said("from the holder")]);
    },
    { leaseMs: 300 },
  );
  await holding.then(
    () => print("saved"),
    (error: unknown) => print(error instanceof ConversationError ? error.reason : error),
  );
  process.stdin.destroy();
}
