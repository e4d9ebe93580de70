import type { Session } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { tally, type Stage } from "./stage.ts";

/** A session whose events say what became of each call. */
export function addSession(stage: Stage): Session {
  const { record, book, random, sessions, seed } = stage;
  const id = `stage-${seed}-${sessions.size}`;
  const session = createSession({ id, slices: [tally] });
  sessions.set(session, record.store(id));
  session.on("tool.invoked", ({ callId, result }) => {
    const operation = record.operation(callId);
    if (operation === undefined) return;
    operation.ended = true;
    stage.note(`${callId} ${result.success ? "ok" : result.message}`);
    if (result.success) {
      book.demand(operation.finished, `TOOL-4 ${callId} succeeds although its handler did not`);
      if (!random.chance(0.04)) return;
      operation.failing = true;
      throw new Error("vetoed");
    }
    record.undo(operation);
    const isExcused = /^Stopped: |took longer|could not be recorded|is read-only|^Not run: /.test(result.message);
    book.demand(!operation.finished || isExcused, `TOOL-4 ${callId} fails with ${result.message}`);
  });
  session.on("transaction.failed", ({ message }) => {
    stage.ends.failedTransactions += 1;
    stage.note(message);
  });
  return session;
}
