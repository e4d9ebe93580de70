import type { PromptExecuted, PromptFailed } from "@proviso/core";
import { canonicalJson } from "@proviso/core/internal";
import type { Watched } from "./registry.ts";
import type { World } from "./world.ts";

/** Milliseconds after a limit within which everything has to be over. */
export const grace = 100;

/** An end follows from what the model said last and from the limits, and from nothing else. */
export function checkEnd(world: World, watched: Watched, event: PromptExecuted | PromptFailed): void {
  const { book } = world;
  const { reported, id } = watched;
  checkSettling(world, watched, event.at);
  const sum = watched.events.reduce(
    (total, told) => total + (told.type === "provider.responded" ? told.usage.totalTokens : 0),
    0,
  );
  const { totalTokens, estimated } = event.usage;
  book.demand(
    Number.isFinite(totalTokens) && totalTokens >= sum,
    `LOOP-6 ${id} spent ${totalTokens} of at least ${sum}`,
  );
  const isStopped = event.type === "prompt.failed" && isStoppedBy(event, latestOf(watched));
  if (reported !== undefined && !isStopped) {
    book.demand(!estimated && totalTokens === reported, `LOOP-6 ${id} spent ${totalTokens} instead of ${reported}`);
  }
  // A turn whose request a limit withheld has begun, too.
  const { turn } = watched;
  const isTurn = event.turns === turn || (event.type === "prompt.failed" && event.turns === turn + 1);
  book.demand(isTurn, `LOOP-6 ${id} tells ${event.turns} turns instead of ${turn}`);
  const isRestore = event.type === "prompt.failed" && event.code === "restore";
  // A session that somebody else made unusable lets nobody succeed; another failure stands.
  const isTorn = world.torn.has(event.sessionId);
  const isFailed = event.type === "prompt.failed";
  book.demand(
    watched.isTorn ? isRestore : isTorn ? isFailed : !isRestore,
    `TX-13 ${id} ends with ${event.type} although a rollback failed`,
  );
  if (event.type === "prompt.failed") checkFailure(world, watched, event);
  else checkAnswer(world, watched, event);
}

/** The moment of the first limit in time that is known. */
function latestOf({ deadlines, abortedAt }: Watched): number {
  return Math.min(abortedAt() ?? Infinity, ...deadlines.map(({ expiresAt }) => expiresAt.getTime()));
}

/** A failed rollback hides by its code that a limit ended the last request, whose cost is an estimate then. */
function isStoppedBy({ code, at }: PromptFailed, latest: number): boolean {
  return code === "deadline" || code === "aborted" || (code === "restore" && at >= latest);
}

/** LIM-2: whatever a provider, a handler or a resource does. */
function checkSettling({ book }: World, watched: Watched, at: number): void {
  const latest = latestOf(watched);
  book.demand(at <= latest + grace, `LIM-2 ${watched.id} settles ${at - latest} ms after its limit`);
}

function checkAnswer({ book }: World, { intent, hasOutput, id }: Watched, { output, text }: PromptExecuted): void {
  if (intent?.kind !== "final") {
    book.demand(false, `LOOP-5 ${id} succeeds after ${intent?.kind}`);
    return;
  }
  book.demand(intent.fits || !hasOutput, `OUT-2 ${id} succeeds with an output that does not fit`);
  const wanted = hasOutput ? intent.value : intent.text;
  book.demand(canonicalJson(output) === canonicalJson(wanted), `OUT-1 ${id} has another output than the model gave`);
  book.demand(text === (hasOutput ? null : intent.text), `OUT-1 ${id} has the text ${text}`);
}

/** LIM-5: refused only where it would not fit alone, by the numbers of the message. */
function couldNotFit(message: string): boolean {
  const [, limit, spent, wanted] = /limit (\S+), spent (\S+), reserved \S+, wanted (\S+)\./.exec(message) ?? [];
  return Number(spent) + Number(wanted) > Number(limit);
}

function checkFailure(
  { book, shape, openings, torn }: World,
  watched: Watched,
  { code, message, sessionId }: PromptFailed,
): void {
  const { intent, id, maxTurns, turn, trackers, hasHiddenBudget } = watched;
  const isRight = {
    deadline: () => watched.deadlines.some((deadline) => deadline.remainingMs() <= 0),
    aborted: () => watched.abortedAt() !== undefined || watched.isNested,
    budget: () =>
      hasHiddenBudget ||
      couldNotFit(message) ||
      trackers.some((tracker) => {
        const { totalTokens, inputTokens, outputTokens } = tracker.remaining();
        const least = Math.min(totalTokens, inputTokens, outputTokens);
        return tracker.exceeded() !== undefined || least <= (shape.honest ? 100_000 : 0);
      }),
    turns: () => turn === maxTurns,
    restore: () => torn.has(sessionId),
    throttled: () => intent?.kind === "throttle" && watched.throttled !== undefined,
    render: () => openings.failed > 0 && intent !== undefined && message.includes("nothing to open"),
    provider: () => intent?.kind === "refused",
    output: () => intent?.kind === "final" && !intent.fits && watched.misfits > watched.maxRepairs,
  } satisfies Partial<Record<PromptFailed["code"], () => boolean>>;
  const check = Object.hasOwn(isRight, code) ? isRight[code as keyof typeof isRight] : () => false;
  book.demand(check(), `ERR-1 ${id} fails with ${code} (${message}) after ${intent?.kind}`);
}
