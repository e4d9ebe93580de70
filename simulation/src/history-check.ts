import { parseMessages, type Message, type ModelRequest } from "@proviso/core";
import { canonicalJson } from "@proviso/core/internal";
import type { Book } from "./checks.ts";
import type { Watched } from "./registry.ts";

/** LOOP-2, LOOP-3, LOOP-7 and TOOL-7, of each request. */
export function checkHistory(book: Book, watched: Watched, { messages }: ModelRequest, mayOpen: boolean): void {
  const before = watched.history;
  const own = ownIndex(before.length === 0 ? messages : before, watched);
  if (before.length === 0) checkBegin(book, watched, messages);
  const isKept = before.every(
    (message, at) => message === messages[at] || (mayOpen && (message.role === "system" || at === own)),
  );
  book.demand(isKept, "LOOP-2 a history does not begin with the one before");
  checkAnswers(book, messages);
  checkReplay(book, watched, messages.slice(own));
  watched.history = messages;
}

/** Where the prompt's own text stands. */
function ownIndex(messages: readonly Message[], { given }: Watched): number {
  const system = messages[0]?.role === "system" ? 1 : 0;
  return system + given.filter(({ role }) => role !== "system").length;
}

function checkBegin(book: Book, watched: Watched, messages: readonly Message[]): void {
  const carried = watched.given.filter(({ role }) => role !== "system");
  const from = messages[0]?.role === "system" ? 1 : 0;
  book.same(
    messages.slice(from, -1).map((message) => canonicalJson(message)),
    carried.map((message) => canonicalJson(message)),
    "LOOP-7 what was given goes first",
  );
  book.demand(messages.at(-1)?.role === "user", "LOOP-7 the prompt's own text is not last");
}

/** Every call is followed by its answer, in the order of the calls. */
function checkAnswers(book: Book, messages: readonly Message[]): void {
  let open: readonly string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      book.demand(message.callId === open[0], `TOOL-7 ${message.callId} is answered in place of ${open[0]}`);
      open = open.slice(1);
      continue;
    }
    book.demand(open.length === 0, `LOOP-3 ${open.join(", ")} has no answer`);
    if (message.role !== "assistant") continue;
    open = message.toolCalls.map(({ id }) => id);
    const areIds = open.every((id) => typeof id === "string" && id !== "");
    book.demand(
      areIds && new Set(open).size === open.length,
      `TOOL-7 calls without an id of their own: ${open.join()}`,
    );
  }
  book.demand(open.length === 0, `LOOP-3 ${open.join(", ")} has no answer`);
}

/** What the model said is sent back as it was said, but for half surrogate pairs; ids that were none are made up. */
function checkReplay(book: Book, { said }: Watched, turns: readonly Message[]): void {
  const replayed = turns.filter((message) => message.role === "assistant");
  book.demand(replayed.length === said.length, `LOOP-2 ${replayed.length} answers are replayed of ${said.length}`);
  for (const [at, message] of replayed.entries()) {
    const original = said[at];
    if (original === undefined) continue;
    const isSame =
      message.text === original.text.toWellFormed() &&
      message.toolCalls.length === original.toolCalls.length &&
      message.toolCalls.every(({ name, arguments: given }, index) => {
        const call = original.toolCalls[index];
        return name === call?.name.toWellFormed() && given === call.arguments.toWellFormed();
      });
    book.demand(isSame, "LOOP-2 an answer is not replayed as it was");
    const keptIds = message.toolCalls.every(({ id }, index) => id === original.toolCalls[index]?.id);
    if (keptIds) book.demand(message.providerItems === original.providerItems, "LOOP-2 provider items are lost");
  }
}

/** What is left of an evaluation can be stored and gone on from. */
export function checkLeft(book: Book, messages: readonly Message[]): void {
  checkAnswers(book, messages);
  try {
    parseMessages(JSON.parse(JSON.stringify(messages)));
  } catch (error) {
    book.demand(false, `LOOP-3 what is left cannot be gone on from: ${(error as Error).message}`);
  }
}
