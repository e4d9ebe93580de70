import { DefinitionError, type ModelRequest, type ProviderAdapter, type RouteStep } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import type { ChainRequest } from "../request/chain.ts";
import type { RoomForTries } from "../request/tries-room.ts";
import type { Run } from "../run.ts";
import { HedgedRequest, type AfterMs } from "./hedged-request.ts";
import { skippedStep, whyNot, Member } from "./member.ts";
import { adapterOf, checkMembers, type Ask } from "./together.ts";

/** When the next adapter is asked, too. */
export type HedgeOptions =
  | {
      /** Milliseconds without an answer, or where it is streamed without a delta. */
      readonly afterMs: number;
    }
  | {
      /**
       * The part of an adapter's own last 100 requests that were answered sooner, 50 to 99.9 percent. Nothing is hedged
       * before it has had 20.
       */
      readonly afterPercentile: number;
    };

/**
 * Asks the next adapter, too, when an answer takes long. The first answer wins, or the first delta where the answer is
 * streamed, and the others are aborted; what they cost is charged as an estimate. After a failure for which `fallback`
 * would go on the next one is asked at once.
 * @throws {DefinitionError} for an empty list, for an adapter that modelAdapter did not make (the tools of an agent would
 * run twice), for one that is there twice, and for options that cannot be.
 */
export function hedged(adapters: readonly ProviderAdapter[], options: HedgeOptions): ProviderAdapter {
  checkOptions(options);
  const asked = checkMembers("hedged", adapters, { agents: false });
  const members = asked.map((one, index) => new Member(index, one, undefined));
  const afterMs = afterMsOf(options);
  const atOnce = asked.reduce((sum, one) => sum + one.atOnce, 0);
  return adapterOf("hedged", { adapters, members: asked, atOnce }, {}, (run) => new Hedged(run, members, afterMs));
}

function checkOptions(options: HedgeOptions): void {
  const example = "{ afterMs: 2_000 } or { afterPercentile: 95 }";
  if (!isRecord(options)) throw new DefinitionError(`hedged needs ${example}, not ${describeValue(options)}.`);
  checkOptionNames("hedged", options, { afterMs: true, afterPercentile: true });
  const { afterMs, afterPercentile } = options as Readonly<Record<string, unknown>>;
  if ((afterMs === undefined) === (afterPercentile === undefined)) {
    throw new DefinitionError(`hedged needs one of afterMs and afterPercentile: ${example}.`);
  }
  if (afterMs !== undefined && !(typeof afterMs === "number" && afterMs >= 0 && Number.isFinite(afterMs))) {
    throw new DefinitionError(`hedged: afterMs must be a number from 0, not ${describeValue(afterMs)}.`);
  }
  if (
    afterPercentile !== undefined &&
    !(typeof afterPercentile === "number" && afterPercentile >= 50 && afterPercentile <= 99.9)
  ) {
    throw new DefinitionError(
      `hedged: afterPercentile must be from 50 to 99.9, not ${describeValue(afterPercentile)}.`,
    );
  }
}

/** Requests of an adapter before its percentile means anything. */
const leastRequests = 20;

function afterMsOf(options: HedgeOptions): AfterMs {
  const { afterMs, afterPercentile = 0 } = options as { readonly afterMs?: number; readonly afterPercentile?: number };
  if (afterMs !== undefined) return () => afterMs;
  return ({ past }) => (past.count < leastRequests ? undefined : past.percentile(afterPercentile));
}

/** The requests of one evaluation. */
class Hedged implements Ask {
  readonly #run: Run;
  readonly #members: readonly Member[];
  readonly #afterMs: AfterMs;

  constructor(run: Run, members: readonly Member[], afterMs: AfterMs) {
    this.#run = run;
    this.#members = members;
    this.#afterMs = afterMs;
  }

  ask(request: ModelRequest, room: RoomForTries): ChainRequest {
    const able: Member[] = [];
    const skipped: RouteStep[] = [];
    for (const member of this.#members) {
      const { provider } = member.asked;
      const why = whyNot(this.#run, provider, request.messages);
      if (why === undefined) able.push(member);
      else skipped.push(skippedStep(provider, why));
    }
    return new HedgedRequest({ run: this.#run, request, room }, able, this.#afterMs, skipped);
  }
}
