import {
  Filesystem,
  provide,
  type BudgetTracker,
  type FrameworkEvent,
  type Message,
  type Session,
  type SessionSnapshot,
} from "@proviso/core";
import { createSnapshot, openResources, restoreSession, restoreSnapshot, transaction } from "@proviso/runtime";
import { simulateActors } from "./actors/simulate-actors.ts";
import { evaluateOnce } from "./evaluation.ts";
import { checkState, hearAll } from "./hearing.ts";
import { keyOf } from "./names.ts";
import { randomPrompts } from "./prompts.ts";
import type { Watched } from "./registry.ts";
import { census, ledger, noted, slices } from "./slices.ts";
import { checkThings, vaultKey } from "./vault.ts";
import { createWorld, type World } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
}

/** Milliseconds after which everything has to be over; evaluations inside each other may wait a minute for each refusal. */
const longest = 3_600_000;
const untouched = Object.getOwnPropertyNames(Object.prototype).join();

/** One run from a seed: evaluations on one world, one after another and beside each other, checked at every step. */
export async function simulate(seed: number): Promise<Outcome> {
  const world = createWorld(seed);
  const { book, clock, random, shape, sessions } = world;
  const watchers = new Map<string, (watched: Watched, event: FrameworkEvent) => void>();
  for (const session of sessions) {
    hearAll(world, session, (watched, event) => watchers.get(watched.name)?.(watched, event));
    addListeners(world, session);
  }
  const prompts = randomPrompts(world);
  const resources = await openResources([
    provide(Filesystem, world.files),
    provide(vaultKey, world.vault),
    ...world.bindings,
  ]);
  let messages: readonly Message[] = [];
  const evaluateAll = async (): Promise<void> => {
    const all = Array.from({ length: shape.concurrent }, async (_, index) => {
      const session = sessions[index % sessions.length] as Session;
      if (index > 0 && random.chance(0.5)) await clock.sleep(random.int(3_000));
      return evaluateOnce(world, {
        session,
        resources,
        prompts,
        messages,
        index,
        watch: (name, listener) => void watchers.set(name, listener),
      });
    });
    const visiting = shape.visits === 0 ? undefined : visit(world);
    [messages = []] = await Promise.all(all);
    await visiting;
  };
  for (let round = 0; round < shape.rounds; round++) {
    await passTime(world, between(world, resources, evaluateAll));
    checkAfter(world, `after round ${round}`);
  }
  await clock.advance(60_000);
  for (const { attempt, callId } of world.late) book.same(await attempt(), [], `TX-3 after the call ${callId} is over`);
  checkAfter(world, "after late tries");
  checkSaved(world);
  await passTime(world, Promise.resolve(resources[Symbol.asyncDispose]()));
  await clock.advance(60_000);
  checkThings(book, world.things, world.vault.hangs);
  book.demand(clock.pending === 0, `SEC-3 ${clock.pending} still sleep`);
  const isClean = Object.getOwnPropertyNames(Object.prototype).join() === untouched;
  book.demand(isClean && !("polluted" in {}), "SEC-3 Object.prototype was touched");
  await new Promise<void>((resolve) => setImmediate(resolve));
  const actors = await simulateActors(seed);
  return {
    seed,
    violations: [...book.violations, ...actors.violations],
    trace: [...book.trace, "actors", ...actors.trace],
  };
}

/** The application dispatches beside what is under way, and goes back to how a session was. */
async function visit(world: World): Promise<void> {
  const { book, random, clock, shape, sessions, expected, vault } = world;
  const marks: { readonly session: Session; readonly snapshot: SessionSnapshot; readonly mark: readonly unknown[] }[] =
    [];
  for (let times = shape.visits; times > 0; times--) {
    await clock.sleep(random.int(2_000));
    if (vault.hasFailed) return;
    const session = random.pick(sessions);
    const text = `from outside at ${clock.now()}`;
    if (!isHalfUndone(world, session)) marks.push({ session, snapshot: session.snapshot(), mark: expected.mark() });
    expected.dispatches(session.id, text);
    session.dispatch(noted({ text }));
    await clock.sleep(random.int(2_000));
    if (vault.hasFailed || marks.length === 0 || random.chance(0.5)) continue;
    const back = random.pick(marks);
    // A call may be undone already and not told to have failed: what it did would be back.
    if (isHalfUndone(world, back.session) || expected.bringsBack(back.session.id, back.mark)) continue;
    book.note(`${back.session.id} goes back to a snapshot`);
    expected.restoreSession(back.session.id, back.mark);
    back.session.restore(back.snapshot);
  }
}

/** A call fails, and has not been told yet. */
function isHalfUndone({ expected }: World, session: Session): boolean {
  const there = expected.now().of(session.id);
  return session.get(census).length !== there.census.length || session.get(ledger).length !== there.ledger.length;
}

async function passTime({ clock, book }: World, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.then(
    () => (isOver = true),
    (error: unknown) => {
      isOver = true;
      book.demand(false, `ERR-1 something rejected: ${(error as Error | undefined)?.stack}`);
    },
  );
  for (let passed = 0; !isOver && passed < longest; passed += 1_000) await clock.advance(1_000);
  book.demand(isOver, "LIM-2 an evaluation does not end");
}

/** Listeners that veto a recording, or fail when it is too late for that. */
function addListeners({ random, expected, vault }: World, session: Session): void {
  session.on("tool.invoked", (event) => {
    if (vault.hasFailed || random.chance(0.9)) return;
    const text = `audit ${keyOf(event)}`;
    expected.dispatches(session.id, text);
    session.dispatch(noted({ text }));
  });
  session.on("tool.invoked", (event) => {
    if (!(event.result.success ? random.chance(0.05) : random.chance(0.02))) return;
    expected.vetoes(event);
    throw new Error("vetoed");
  });
  session.on("prompt.executed", () => {
    if (random.chance(0.02)) throw new Error("the listener failed");
  });
  session.on("provider.requested", () => {
    if (random.chance(0.01)) throw new Error("nobody minds");
  });
  session.on(noted, () => {
    if (random.chance(0.03)) throw new Error("too late to mind");
  });
  session.on("provider.responded", (): unknown => Promise.reject(new Error("nobody hears")));
}

type Opened = Awaited<ReturnType<typeof openResources>>;

/** A round, alone or within a public transaction or snapshot. */
async function between(world: World, resources: Opened, round: () => Promise<void>): Promise<void> {
  const { random, shape, sessions, vault, expected, book } = world;
  const [session] = sessions as readonly [Session];
  const kind = random.int(10);
  if (shape.sessions > 1 || shape.mood !== "good" || vault.isTorn || kind > 3) {
    await round();
    return;
  }
  const scope = { session, resources, tag: "simulated" };
  const say = (text: string): void => {
    expected.dispatches(session.id, text);
    session.dispatch(noted({ text }));
  };
  const before = expected.mark();
  book.note(kind < 2 ? "a snapshot" : "a transaction");
  if (kind < 2) {
    const snapshot = await createSnapshot(scope);
    await round();
    say("after the snapshot");
    await restoreSnapshot(scope, snapshot);
    expected.restore(before);
  } else {
    const fails = random.chance(0.5);
    const rollsBack = random.chance(0.5);
    const result = await transaction(scope, async (rollback) => {
      await round();
      say("within a transaction");
      if (rollsBack) {
        await rollback();
        expected.restore(before);
        checkState(world, session, "after rolling back");
        say("after rolling back");
      }
      if (fails) throw new Error("on purpose");
      return "done";
    }).catch((error: unknown) => (error as Error).message);
    book.demand(result === (fails ? "on purpose" : "done"), `TX-9 a transaction ends with ${result}`);
    if (fails) expected.restore(before);
  }
  checkState(world, session, "after a public transaction");
}

/** Nothing is under way: budgets add up, and every evaluation has ended. */
function checkAfter(world: World, when: string): void {
  const { book, registry, sessions, shape } = world;
  for (const session of sessions) checkState(world, session, when);
  const spent = new Map<BudgetTracker, number>();
  for (const watched of registry.all()) {
    book.demand(watched.hasEnded, `LOOP-1 ${watched.id} rendered and has no end ${when}`);
    // A rollback that goes on behind the end may fail later.
    const last = watched.events.findLast(({ type }) => type === "prompt.executed" || type === "prompt.failed");
    if (last?.type !== "prompt.executed" && last?.type !== "prompt.failed") continue;
    for (const tracker of watched.trackers) {
      spent.set(tracker, (spent.get(tracker) ?? 0) + last.usage.totalTokens);
    }
  }
  for (const [{ consumed, remaining, budget }, sum] of spent) {
    book.demand(consumed.totalTokens === sum, `LIM-5 a budget counts ${consumed.totalTokens} of ${sum} tokens ${when}`);
    const { totalTokens } = remaining();
    const left = (budget.maxTotalTokens ?? Infinity) - consumed.totalTokens;
    book.demand(totalTokens === left, `LIM-5 ${left - totalTokens} tokens are still held ${when}`);
    if (shape.honest) book.demand(left >= 0, `LIM-5 ${-left} tokens too many were spent ${when}`);
  }
}

/** SES-3: saved and brought back, it is the same. */
function checkSaved({ book, sessions, vault }: World): void {
  if (vault.hasFailed) return;
  for (const session of sessions) {
    const saved: unknown = JSON.parse(JSON.stringify(session));
    const back = restoreSession(saved, { slices });
    book.same(back.get(ledger), session.get(ledger), "SES-3 what was saved");
    book.demand(JSON.stringify(back) === JSON.stringify(saved), "SES-3 a session that was saved twice differs");
  }
}
