import type { BudgetTracker, FrameworkEvent, Session, SessionEvent } from "@proviso/core";
import { openedSections } from "@proviso/core/internal";
import { isSame, oddIn } from "./checks.ts";
import type { View } from "./expected.ts";
import { keyOf } from "./names.ts";
import type { Watched } from "./registry.ts";
import { census, journal, ledger, successes, type noted } from "./slices.ts";
import { checkThrottle } from "./throttle-check.ts";
import { checkEnd } from "./end-check.ts";
import { filesIn } from "./files.ts";
import type { World } from "./world.ts";

/** Hears every event of a session first of all, and looks at everything after each. */
export function hearAll(
  world: World,
  session: Session,
  onEvent: (watched: Watched, event: FrameworkEvent) => void,
): void {
  const { book, expected, registry, clock, startedAt } = world;
  let seq = 0;
  session.on("*", (event: SessionEvent) => {
    expected.hear(session.id, event);
    if (event.evaluationId === undefined) {
      book.note(`${clock.now() - startedAt} ${(event as ReturnType<typeof noted>).text}`);
      checkState(world, session, `at ${event.type}`);
      return;
    }
    const told = event as FrameworkEvent;
    book.note(`${told.at - startedAt} ${told.evaluationId} ${told.type}${detailOf(told)}`);
    book.demand(told.seq === seq, `EVT-2 number ${told.seq} comes after ${seq - 1}`);
    seq = told.seq + 1;
    book.demand(
      told.at === clock.now() && told.sessionId === session.id,
      "EVT-2 an event is of another time or session",
    );
    const odd = oddIn(told);
    book.demand(odd === undefined, `EVT-2 ${told.type} is no plain JSON: it${odd}`);
    const watched = told.type === "prompt.rendered" ? registry.rendered(told) : registry.of(told.evaluationId);
    // A rollback may go on behind an evaluation that a limit has ended.
    const isStopped = watched !== undefined && (watched.passed() !== undefined || watched.mayBeAborted());
    const isBehind = told.type === "transaction.failed" && isStopped;
    if (watched === undefined || (watched.hasEnded && !isBehind)) {
      const when = watched === undefined ? "before it was rendered" : "after its end";
      book.demand(false, `LOOP-1 ${told.type} of ${told.evaluationId} comes ${when}`);
      return;
    }
    watched.events.push(told);
    step(world, watched, told);
    if (!changesNothing.has(told.type)) checkState(world, session, `at ${told.type}`);
    onEvent(watched, told);
  });
}

/** Deltas; and the opening of sections, of which is told next whether it holds. */
const changesNothing = new Set(["text.delta", "output.delta", "sections.opened"]);

function step(world: World, watched: Watched, event: FrameworkEvent): void {
  const { book, registry } = world;
  const begins = event.type === "provider.requested" || event.type === "tool.requested";
  if (begins || (event.type === "provider.throttled" && event.delayMs !== undefined)) {
    const passed = watched.passed();
    book.demand(passed === undefined, `LIM-2 ${event.type} comes after ${passed}`);
  }
  checkThrottle(book, watched, event);
  if (event.type === "provider.throttled") watched.throttled = event;
  if (event.type === "tool.requested") checkSpent(world, watched);
  if (event.type === "transaction.failed") {
    book.demand(world.vault.hasFailed, "TX-13 transaction.failed comes without a fault");
    for (let one: Watched | undefined = watched; one !== undefined; one = one.around) one.isTorn = true;
    world.torn.add(event.sessionId);
  }
  if (event.type === "tool.invoked") {
    checkFinished(world, event);
    const signal = world.signals.get(keyOf(event));
    book.demand(signal?.aborted !== false, `TX-3 the signal of ${keyOf(event)} does not tell its end`);
  }
  if (event.type === "provider.requested") {
    watched.turn = event.turn;
    watched.throttled = undefined;
    registry.asks(watched);
    checkRoom(world, watched);
  }
  if (event.type === "prompt.executed" || event.type === "prompt.failed") {
    checkEnd(world, watched, event);
    watched.hasEnded = true;
  }
}

/** LIM-4, LIM-5: where costs are bounded, what is spent and what is held never pass the limit. */
function checkRoom({ book, shape, isCrowded }: World, { trackers }: Watched): void {
  for (const tracker of trackers) {
    const { totalTokens, outputTokens, inputTokens } = tracker.remaining();
    const least = Math.min(totalTokens, outputTokens, inputTokens);
    if (shape.honest) book.demand(least >= 0, `LIM-5 ${-least} tokens more are spent and held than there are`);
    else if (!isCrowded) book.demand(unspent(tracker) > 0, "LIM-4 a request begins with nothing left");
  }
}

/** What a request has reserved for itself is not spent yet. */
function unspent({ budget, consumed }: BudgetTracker): number {
  return Math.min(
    (budget.maxTotalTokens ?? Infinity) - consumed.totalTokens,
    (budget.maxInputTokens ?? Infinity) - consumed.inputTokens,
    (budget.maxOutputTokens ?? Infinity) - consumed.outputTokens,
  );
}

/** LIM-4: a response that passed the budget is followed by no tool. */
function checkSpent({ book, isCrowded }: World, { trackers }: Watched): void {
  if (isCrowded) return;
  for (const tracker of trackers)
    book.demand(tracker.exceeded() === undefined, "LIM-4 a tool begins although the budget is passed");
}

const excuses = /^Stopped: |took longer|not JSON|is read-only|could not be recorded|budget is spent/;

/** A success is one that its handler came to; a failure has a reason. */
function checkFinished({ book, finished }: World, event: Extract<FrameworkEvent, { type: "tool.invoked" }>): void {
  if (["secret", "open_sections", "read_section"].includes(event.name)) return;
  const isDone = finished.has(keyOf(event));
  const { result } = event;
  if (result.success) book.demand(isDone, `TOOL-4 ${keyOf(event)} succeeds although its handler did not`);
  else if (isDone) book.demand(excuses.test(result.message), `TOOL-4 ${keyOf(event)} fails with ${result.message}`);
}

function detailOf(event: FrameworkEvent): string {
  switch (event.type) {
    case "tool.progress":
      return ` ${event.name} ${event.callId} ${event.done}`;
    case "provider.tool":
    case "tool.requested":
      return ` ${event.name} ${event.callId}`;
    case "tool.invoked":
      return ` ${event.name} ${event.callId} ${event.result.success ? "ok" : event.result.message}`;
    case "provider.throttled":
      return ` ${event.kind} ${event.delayMs}`;
    case "provider.requested":
      return ` turn ${event.turn} attempt ${event.attempt}`;
    case "prompt.rendered":
      return event.parent === undefined ? "" : ` in ${event.parent.evaluationId} ${event.parent.callId}`;
    case "prompt.failed":
      return ` ${event.code} ${event.message}`;
    case "sections.opened":
      return ` ${event.keys.join()}`;
    case "provider.responded":
      return ` ${event.finishReason} ${event.usage.totalTokens}`;
    case "text.delta":
    case "reasoning.delta":
      return ` ${JSON.stringify(event.text)}`;
    case "transaction.failed":
      return ` ${event.operation} ${event.message}`;
    case "history.compacted":
      return ` ${event.why} ${event.before} to ${event.after}`;
    case "run.suspended":
      return ` ${event.runId} ${event.callId}`;
    case "run.resumed":
      return ` ${event.runId} ${event.attempt}`;
    case "evaluation.restarted":
      return ` ${event.attempt} ${event.code} ${event.provider}`;
    case "feedback.given":
    case "output.delta":
    case "prompt.executed":
    case "text.reset":
      return "";
  }
}

/** After every step everything is as the facts say: no more, and no less. */
export function checkState(world: World, session: Session, when: string): void {
  const { book, expected, registry, vault, isCrowded, shape } = world;
  let state: ReturnType<typeof read>;
  try {
    state = read(session);
  } catch (error) {
    const says = (error as Error).message;
    const isTold = vault.hasFailed && says.includes("cannot be used any more");
    book.demand(isTold, `TX-9 the session is unusable ${when}: ${says}`);
    return;
  }
  const view = expected.now();
  const wanted = view.of(session.id);
  book.same(state.journal, wanted.journal, `TX-7 the journal ${when}`);
  // A call may be half undone when others are told something.
  let undoing: readonly View[] | undefined;
  const others = (): readonly View[] => (undoing ??= isCrowded || shape.visits > 0 ? expected.undoing() : []);
  const compare = (what: string, actual: readonly string[], of: (view: View) => readonly string[]): void => {
    const wanted = of(view);
    if (isSame(actual, wanted) || others().some((other) => isSame(actual, of(other)))) return;
    book.same(actual, wanted, `TX-1 TX-2 the ${what} ${when}`);
  };
  const { id } = session;
  const { withoutVetoed } = expected;
  compare("recorded successes", withoutVetoed(state.successes), (other) => withoutVetoed(other.of(id).successes));
  compare("session's state", state.ledger, (other) => other.of(id).ledger);
  compare("open sections", state.opened, (other) => other.of(id).opened);
  if (!isSame(state.census, wanted.census)) {
    const unsure = expected.unsure();
    const sure = (labels: readonly string[]): readonly string[] => labels.filter((label) => !unsure.has(label));
    compare("census", sure(state.census), (other) => sure(other.of(id).census));
  }
  const mayRestoreLater = vault.isBeingTaken && registry.all().some((watched) => watched.passed() !== undefined);
  if (vault.isTorn || mayRestoreLater) return;
  compare("vault", vault.entries, (other) => other.vault);
  if (!leavesFiles.has(when)) checkFiles(world, view, others, when);
}

/** What nobody who writes files does between: they are looked at soon after. */
const leavesFiles = new Set(
  ["prompt.rendered", "provider.requested", "provider.throttled", "provider.responded", "tool.requested"].map(
    (type) => `at ${type}`,
  ),
);

function read(session: Session) {
  const opened = session
    .get(openedSections)
    .flatMap(({ prompt, sections }) => sections.map(({ path }) => `${prompt} ${path}`))
    .toSorted();
  return {
    ledger: session.get(ledger),
    journal: session.get(journal),
    successes: session.get(successes),
    census: session.get(census),
    opened,
  };
}

/** Which files there are, and what each holds; a call that is being undone may have left any of them as it was. */
function checkFiles({ book, files }: World, view: View, others: () => readonly View[], when: string): void {
  const actual = filesIn(files);
  if (!areThere(view.files, actual) && !others().some((other) => areThere(other.files, actual))) {
    const pathsOf = (of: ReadonlyMap<string, string>): readonly string[] => [...of.keys()].toSorted();
    book.same(pathsOf(actual), pathsOf(view.files), `TX-1 TX-2 the files ${when}`);
  }
  for (const [path, content] of view.files) {
    const text = actual.get(path);
    if (text === undefined || text === content || others().some((other) => other.files.get(path) === text)) continue;
    book.demand(false, `TX-1 TX-2 ${path} holds "${text}" instead of "${content}" ${when}`);
  }
}

/** Exactly these files, whatever they hold. */
function areThere(wanted: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): boolean {
  if (wanted.size !== actual.size) return false;
  for (const path of wanted.keys()) if (!actual.has(path)) return false;
  return true;
}
