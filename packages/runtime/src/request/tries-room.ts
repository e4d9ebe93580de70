// The models that a chain asks for one request share the room that the budgets have for it.
import type { Usage } from "@proviso/core";
import { noneSpent, sumOf, type Room, type SpentSoFar, type Wanted } from "../budget-room.ts";
import type { Granted } from "../budgets.ts";
import { isFailure, type Failure } from "../failures.ts";
import type { AnswerLimits } from "./answer-limits.ts";

/** Where one model of a chain gets the limit of its answer from. */
export interface RoomForTries {
  /** The limits of the request's answers; undefined where there is no budget. */
  readonly limits: AnswerLimits | undefined;
  /**
   * Takes the room for one more try, beside those that are under way; or says which budget has none. Where no other try of
   * the request is under way, it waits for what others have reserved on a shared budget.
   */
  take(): TryPlace | Failure | Promise<TryPlace | Failure>;
  /** The room for a try beside which so many others may begin. */
  beside(others: () => number): RoomForTries;
  /**
   * Called when a try waits for its pace: where no other one is under way, nothing but what is spent stays reserved until it
   * takes room. Returns what ends the wait.
   */
  startPaceWait(): () => void;
}

/** What one try has of the room. */
export interface TryPlace {
  /** The most tokens that its answer may have; undefined: no budget limits it. */
  readonly limit: number | undefined;
  /** The try is over; what it has cost is known to the request by now. `isSent`: its last request carried the limit. */
  end(isSent: boolean): void;
  /** The try was left before its end: its limit is not why the request came to its answer, and `end` changes nothing. */
  leave(): void;
}

const unlimited: TryPlace = Object.freeze({ limit: undefined, end: () => {}, leave: () => {} });

/** Where there is no budget. */
export const unlimitedTries: RoomForTries = Object.freeze({
  limits: undefined,
  take: () => unlimited,
  beside: () => unlimitedTries,
  startPaceWait: () => () => {},
});

/** A limit that a request carried, and the room that it was taken from. */
export interface SentLimit {
  readonly limit: number;
  readonly room: Room;
}

interface SharedRequest {
  readonly granted: Granted;
  readonly signal: AbortSignal;
  /** How many models the request may go to at the same time. */
  readonly atOnce: number;
  readonly limits: AnswerLimits | undefined;
  /** What a request wants that goes to so many models at the same time. */
  wantedFor(atOnce: number): Wanted;
  /** The limit of an answer where the room is for so many; undefined: none is sent. */
  limitIn(room: Room, atOnce: number): number | undefined;
  /** What the tries have cost so far. */
  spent(): Usage | undefined;
}

/** A place that is taken, with the tokens of an answer that it has room for. */
interface TakenPlace extends TryPlace {
  readonly tokens: number;
}

/** The room of one request to a chain. */
export class TriesOfRequest implements RoomForTries {
  readonly #of: SharedRequest;
  readonly #underWay = new Set<TakenPlace>();
  /** The room that was reserved for all that may be asked at once. */
  readonly #whole: Room | undefined;
  #sent: SentLimit | undefined;
  /** How many tries wait for their paces. */
  #waitingForPace = 0;
  /** Whether only what is spent is reserved: the next try waits for its room. */
  #isPaused = false;
  /** One try waits for what others have reserved; undefined: none does. */
  #waiting: Promise<void> | undefined;

  constructor(of: SharedRequest) {
    this.#of = of;
    this.#whole = of.granted.room;
  }

  get limits(): AnswerLimits | undefined {
    return this.#of.limits;
  }

  /** The limit of the last request of the try that ended last; undefined: it had none. */
  get sent(): SentLimit | undefined {
    return this.#sent;
  }

  /** `others`: how many further models may begin while this one is under way. */
  take(others = 0): TryPlace | Failure | Promise<TryPlace | Failure> {
    if (this.#waiting !== undefined) return this.#waiting.then(() => this.take(others));
    const { granted, atOnce } = this.#of;
    const { room } = granted;
    if (room === undefined) return unlimited;
    const spent = this.#of.spent();
    const isWhole = room === this.#whole && !this.#isPaused;
    const isFirst = isWhole && spent === undefined && this.#underWay.size + 1 + others === atOnce;
    if (isFirst) return this.#place(room, atOnce);
    const isAlone = this.#underWay.size === 0;
    if (isAlone && (spent !== undefined || this.#isPaused)) return this.#wait(others);
    const underWay = [...this.#underWay].map((place) => this.#mostOf(place));
    const gone = underWay.reduce(sumOf, amountsOf(spent));
    const shared = this.#placeBeside(1 + others, gone);
    // Where there is no room for all that may be asked at once, there may be for this one alone.
    const place = isFailure(shared) && others > 0 ? this.#placeBeside(1, gone) : shared;
    return isAlone && isFailure(place) ? this.#wait(others) : place;
  }

  beside(others: () => number): RoomForTries {
    return new BesideOthers(this, others);
  }

  startPaceWait(): () => void {
    this.#waitingForPace += 1;
    this.#releaseWhileWaiting();
    return () => void (this.#waitingForPace -= 1);
  }

  /** While all tries only wait for a pace, their room is free for others. */
  #releaseWhileWaiting(): void {
    const isResting = this.#waitingForPace > 0 && this.#underWay.size === 0 && this.#waiting === undefined;
    if (!isResting || this.#isPaused || this.#of.granted.room === undefined) return;
    this.#pause();
  }

  #pause(): void {
    this.#of.granted.pause(amountsOf(this.#of.spent()));
    this.#isPaused = true;
  }

  /** The room of a try while others of the request are under way: nothing is reserved anew. */
  #placeBeside(count: number, gone: SpentSoFar): TryPlace | Failure {
    const spent = amountsOf(this.#of.spent());
    const left = this.#of.granted.roomFor({ ...this.#wantedFor(count), spent }, gone);
    return left === undefined || isFailure(left) ? (left ?? unlimited) : this.#place(left, count);
  }

  /** No other try is under way: what is spent stays reserved, and the next one waits for its room as any request does. */
  #wait(others: number): TryPlace | Failure | Promise<TryPlace | Failure> {
    const { granted, signal } = this.#of;
    this.#pause();
    const reserveFor = (count: number): TryPlace | Failure | Promise<TryPlace | Failure> => {
      const going = granted.reserveAgain(this.#wantedFor(count), signal);
      const placed = (why: Failure | undefined): ReturnType<typeof reserveFor> => {
        if (why !== undefined) return count > 1 ? reserveFor(1) : why;
        this.#isPaused = false;
        return granted.room === undefined ? unlimited : this.#place(granted.room, count);
      };
      return going instanceof Promise ? going.then(placed) : placed(going);
    };
    const waiting = reserveFor(1 + others);
    if (!(waiting instanceof Promise)) return waiting;
    const over = (): void => void (this.#waiting = undefined);
    this.#waiting = waiting.then(over, over);
    return waiting;
  }

  #wantedFor(atOnce: number): Wanted {
    return { ...this.#of.wantedFor(atOnce), name: "the request to another model" };
  }

  #place(room: Room, atOnce: number): TryPlace {
    const limit = this.#of.limitIn(room, atOnce);
    const leave = (): void => {
      this.#underWay.delete(place);
      this.#releaseWhileWaiting();
    };
    const end = (isSent: boolean): void => {
      if (!this.#underWay.has(place)) return;
      leave();
      this.#sent = isSent && limit !== undefined ? { limit, room } : undefined;
    };
    const place: TakenPlace = { limit, tokens: Math.floor(room.tokens / atOnce), end, leave };
    this.#underWay.add(place);
    return place;
  }

  /** The most that a try under way costs. */
  #mostOf({ limit, tokens }: TakenPlace): SpentSoFar {
    const { inputTokens, outputTokens, costOf } = this.#of.wantedFor(1);
    const longest = limit ?? Math.max(0, Math.min(outputTokens, tokens));
    return { inputTokens, outputTokens: longest, costUsd: costOf?.(inputTokens, longest) };
  }
}

class BesideOthers implements RoomForTries {
  readonly #tries: TriesOfRequest;
  readonly #others: () => number;

  constructor(tries: TriesOfRequest, others: () => number) {
    this.#tries = tries;
    this.#others = others;
  }

  get limits(): AnswerLimits | undefined {
    return this.#tries.limits;
  }

  take(): ReturnType<RoomForTries["take"]> {
    return this.#tries.take(this.#others());
  }

  beside(others: () => number): RoomForTries {
    return new BesideOthers(this.#tries, () => this.#others() + others());
  }

  startPaceWait(): () => void {
    return this.#tries.startPaceWait();
  }
}

function amountsOf(usage: Usage | undefined): SpentSoFar {
  if (usage === undefined) return noneSpent;
  const { inputTokens, outputTokens, totalTokens, costUsd } = usage;
  // A total may be more than both: then the rest was produced, too.
  return { inputTokens, outputTokens: Math.max(outputTokens, totalTokens - inputTokens), costUsd };
}
