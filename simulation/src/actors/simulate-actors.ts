import { deadlineIn, type EvaluateOptions, type Session } from "@proviso/core";
import { transaction } from "@proviso/runtime";
import { createEvaluation } from "./evaluations.ts";
import type { Store } from "./record.ts";
import {
  cellKeys,
  createStage,
  extraBinding,
  extraKey,
  hasFailed,
  randomGiven,
  tally,
  textsOf,
  type Opened,
  type Stage,
} from "./stage.ts";
import { addSession } from "./sessions.ts";
import { work, workAlone } from "./steps.ts";
import { waitTogether } from "./together.ts";
import { goBack, runTransaction, visit } from "./transactions.ts";

/** Milliseconds after which everything has to be over, and within which a lock that nobody holds is there. */
const longest = 600_000;
const atOnce = 2_000;
/** Milliseconds after a limit within which an evaluation has to be over. */
const grace = 100;

/** Two to five actors at the same time over one or two sessions and three resources; checked at every step. */
export async function simulateActors(seed: number): Promise<Stage["book"]> {
  const stage = await createStage(seed);
  const { random, book, environment } = stage;
  const { clock } = environment;
  const sessions = Array.from({ length: 1 + random.int(2) }, () => addSession(stage));
  const actors = Array.from({ length: 2 + random.int(4) }, async () => {
    await clock.sleep(random.pick([0, 0, 10, random.int(200)]));
    await act(stage, random.pick(sessions));
  });
  await passTime(stage, Promise.all(actors), longest, "LIM-2 something waits for ever");
  await passTime(stage, Promise.all(stage.background), longest, "LIM-2 something in the background waits for ever");
  // What goes on behind: restores, releases, and one close after another that hangs for its five seconds.
  await clock.advance(600_000);
  for (const session of sessions) await checkFree(stage, session);
  for (const scope of [...stage.scopes, stage.late])
    await passTime(stage, closed(stage, scope), atOnce, "RES-1 a scope is not closed");
  checkEnd(stage);
  book.demand(clock.pending === 0, `SEC-3 ${clock.pending} still sleep`);
  return book;
}

/** Closes a scope, which may reject with what a broken cell threw when a transaction released or discarded it. */
async function closed(stage: Stage, scope: AsyncDisposable): Promise<void> {
  try {
    await scope[Symbol.asyncDispose]();
  } catch (error) {
    if (!(error instanceof AggregateError && hasFailed(stage))) throw error;
  }
}

async function act(stage: Stage, session: Session): Promise<void> {
  const { random, scopes } = stage;
  const scope = { session, resources: random.pick(scopes) };
  const kind = random.int(100);
  if (kind < 3) await waitTogether(stage);
  else if (kind < 55) await evaluate(stage, session);
  else if (kind < 80) {
    // What its scope has not made yet is made by whoever asks inside the body, or outside.
    const isLate = !stage.orderly && stage.seed % 4 === 0;
    await runTransaction(stage, isLate ? { session, resources: stage.late } : scope, undefined, 0);
  } else if (kind < 88 && !stage.goingBack.isTaken) {
    // One of these in a run, so that it is known whose snapshot is restored.
    stage.goingBack.isTaken = true;
    await goBack(stage, scope);
  } else await visit(stage, session);
}

async function evaluate(stage: Stage, session: Session): Promise<void> {
  const { random, book, environment, limited, orderly } = stage;
  const { clock } = environment;
  const hasExtra = random.chance(0.5);
  const given = randomGiven(stage);
  const resources = hasExtra
    ? [...(Array.isArray(given) ? given : [given]), extraBinding(stage, () => workAlone(stage))]
    : given;
  const keys = hasExtra ? [...cellKeys, extraKey] : cellKeys;
  const watched = random.chance(0.35);
  const place = { session, parent: undefined, depth: 0, readOnly: false, isInBody: false, keys, watched, work };
  const { prompt, adapter } = createEvaluation(stage, place);
  const controller = new AbortController();
  const endMs = limited && random.chance(0.6) ? random.int(600) : undefined;
  const isAbort = random.chance(0.5);
  const endsAt = endMs === undefined ? Infinity : clock.now() + endMs;
  if (endMs !== undefined && isAbort) void clock.sleep(endMs).then(() => controller.abort());
  const limits =
    endMs === undefined || isAbort ? { signal: controller.signal } : { deadline: deadlineIn(endMs, clock) };
  const options: EvaluateOptions = {
    session,
    resources: resources as NonNullable<EvaluateOptions["resources"]>,
    ...limits,
  };
  const code = await adapter.evaluate(prompt, options).then(
    () => "an answer",
    (error: unknown) => (error as { readonly code?: string }).code ?? String(error),
  );
  stage.note(`an evaluation ends with ${code}`);
  book.demand(clock.now() <= endsAt + grace, `LIM-2 it settles ${clock.now() - endsAt} ms after its limit`);
  const isLimit = endMs !== undefined && (code === "deadline" || code === "aborted");
  const isFault = hasFailed(stage) && (code === "restore" || code === "render");
  const isExpected = code === "an answer" || isLimit || isFault || (code === "deadlock" && !orderly);
  book.demand(isExpected, `ERR-1 an evaluation ends with ${code}`);
}

async function passTime(
  { environment, book }: Stage,
  work: Promise<unknown>,
  most: number,
  what: string,
): Promise<void> {
  let isOver = false;
  void work.then(
    () => (isOver = true),
    (error: unknown) => {
      isOver = true;
      book.demand(false, `ERR-1 an actor fails: ${(error as Error | undefined)?.stack}`);
    },
  );
  for (let passed = 0; !isOver && passed < most; passed += 500) await environment.clock.advance(500);
  book.demand(isOver, what);
}

/** Nobody holds anything any more: a transaction over all cells begins at once. */
async function checkFree(stage: Stage, session: Session): Promise<void> {
  const { scopes, book, cells } = stage;
  const [resources] = scopes as readonly [Opened];
  const last = transaction({ session, resources, tag: "the last" }, async () => "done").catch(
    (error: unknown) => (error as { readonly code?: string }).code,
  );
  let ended: string | undefined = "nothing";
  await passTime(
    stage,
    last.then((code) => (ended = code)),
    atOnce,
    "TX-11 a lock is still held",
  );
  const isTorn = cells.some(({ isLost, cannotCommit }) => isLost || (cannotCommit && !stage.limited));
  book.demand(!isTorn || ended === "unusable", `TX-13 a resource that failed is used on: ${ended}`);
  book.demand(ended === "done" || hasFailed(stage) || stage.faulty, `TX-11 the last transaction ends with ${ended}`);
}

function checkEnd(stage: Stage): void {
  const { book, cells, extras, sessions, record, ends, limited } = stage;
  for (const cell of cells) {
    book.demand(cell.inFlight === 0, `TX-14 ${cell.name} is still busy`);
    // Session and resources may disagree then, those that are in order, too.
    if (hasFailed(stage)) continue;
    book.same(cell.look().items, record.texts(cell.store), `TX-1 TX-2 ${cell.name} in the end`);
    book.demand(cell.look().busy === undefined, `TX-1 ${cell.name} stays half-done`);
    book.demand(cell.unreleased() === 0, `TX-11 ${cell.unreleased()} snapshots of ${cell.name} are not released`);
  }
  const lost = cells.filter((cell) => cell.isLost || (cell.cannotCommit && !limited));
  const reported = ends.failedTransactions + ends.unusable;
  book.demand(lost.length === 0 || reported > 0, "TX-13 nobody is told that a rollback or a commit failed");
  for (const cell of extras) {
    const { name, closings } = cell;
    book.demand(closings.length === 1, `TX-4 ${name} was closed ${closings.length} times`);
    book.same(closings[0] ?? [], record.texts(cell.store), `TX-4 ${name} when it was closed`);
    book.demand(cell.unreleased() === 0, `TX-11 ${cell.unreleased()} snapshots of ${name} are not released`);
  }
  for (const [session, store] of sessions) checkSession(stage, session, store);
}

function checkSession(stage: Stage, session: Session, store: Store): void {
  const texts = textsOf(stage, session);
  if (texts === undefined || hasFailed(stage)) return;
  stage.book.same(texts, stage.record.texts(store), `TX-1 TX-2 ${store.name} in the end`);
  const { counted } = session.get(tally);
  stage.book.demand(counted <= texts.length, "TX-2 more is counted than there is");
}
