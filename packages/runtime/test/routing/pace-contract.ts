import type { Pace, PaceEntry, PaceLimits, PaceOutcome, PaceRequest, PaceTurn } from "@proviso/core";
import { describe, expect, test } from "vitest";

/** A pace, and the time that it goes by. */
export interface PaceAndTime {
  readonly pace: Pace;
  /** Lets so many milliseconds pass, once the pace has learnt what it was told. */
  advance(ms: number): Promise<void>;
  /** Sets the pace's clock back. */
  setBack(ms: number): Promise<void>;
}

export interface ContractOptions {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly maxInFlight?: number;
}

export type MakePace = (options: ContractOptions) => PaceAndTime;

const small: PaceRequest = { inputTokens: 1, outputTokens: 1 };
const none: PaceRequest = { inputTokens: 0, outputTokens: 0 };
/** More than requests alone could hold up. */
const many = { requestsPerMinute: 600_000 };

function turnOf(entry: PaceEntry): PaceTurn {
  if (!entry.ok) throw new Error(`no turn: ${entry.reason}`);
  return entry.turn;
}

class Driver {
  readonly #made: PaceAndTime;
  constructor(made: PaceAndTime) {
    this.#made = made;
  }

  async enter(request: PaceRequest = small, limits: PaceLimits = {}): Promise<PaceTurn> {
    return turnOf(await this.#made.pace.enter(request, limits));
  }

  async send(request: PaceRequest, outcome: PaceOutcome): Promise<void> {
    (await this.enter(request)).end(outcome);
  }

  advance(ms: number): Promise<void> {
    return this.#made.advance(ms);
  }

  setBack(ms: number): Promise<void> {
    return this.#made.setBack(ms);
  }

  /** Milliseconds that a request that costs nothing would wait now. */
  async waitMs(limits: PaceLimits = {}): Promise<number> {
    const entry = await this.#made.pace.enter(none, { ...limits, expiresAt: 0 });
    if (!entry.ok) return entry.retryAfterMs;
    entry.turn.giveBack();
    return 0;
  }

  async share(): Promise<number> {
    await this.waitMs();
    return this.#made.pace.state().share;
  }

  /** So many tokens wait as long as they last at this limit. A real server answers some time later. */
  async expectWait(ms: number): Promise<void> {
    const waitMs = await this.waitMs();
    expect(waitMs).toBeGreaterThan(ms - 1_500);
    expect(waitMs).toBeLessThanOrEqual(ms + 5);
  }

  /** A share grows by a fiftieth while a slow server needs a second to answer. */
  async expectShare(share: number): Promise<void> {
    const now = await this.share();
    expect(now).toBeGreaterThan(share - 0.0001);
    expect(now).toBeLessThan(share * 1.02);
  }
}

interface Case {
  readonly title: string;
  readonly options: ContractOptions;
  run(driver: Driver): Promise<void>;
}

const tokens = { tokensPerMinute: 60_000 };
/** A thousand tokens a second, less what is kept in reserve. */
const msFor = (count: number): number => count / 0.995;
/** A limit of tokens that was not used makes up for a second. */
const slackMs = 1_000;

const ofTheShare: readonly Case[] = [
  {
    title: "PAC-2 0.995 of a limit is used at first, and never more",
    options: many,
    async run(driver) {
      expect(await driver.share()).toBe(0.995);
      await driver.send(small, { refused: {} });
      await driver.expectShare(0.995 * 0.85);
      await driver.advance(2_000);
      await driver.expectShare(0.995 * 0.85 * 1.02 ** 2);
      await driver.advance(60_000);
      expect(await driver.share()).toBe(0.995);
    },
  },
  {
    title: "PAC-2 refusals of requests that were sent before the last cut are one sign, however late they come",
    options: many,
    async run(driver) {
      const turns: PaceTurn[] = [];
      for (let count = 0; count < 4; count++) turns.push(await driver.enter());
      for (const turn of turns) {
        turn.end({ refused: {} });
        await driver.advance(1_100);
      }
      await driver.expectShare(0.995 * 0.85 * 1.02 ** 4.4);
      await driver.send(small, { refused: {} });
      await driver.expectShare(0.995 * 0.85 * 1.02 ** 4.4 * 0.85);
    },
  },
  {
    title: "PAC-2 a second lies between two cuts",
    options: many,
    async run(driver) {
      await driver.send(small, { refused: {} });
      await driver.advance(100);
      await driver.send(small, { refused: {} });
      await driver.expectShare(0.995 * 0.85 * 1.02 ** 0.1);
      const next = await driver.enter();
      await driver.advance(1_000);
      next.end({ refused: {} });
      await driver.expectShare(0.995 * 0.85 * 1.02 ** 1.1 * 0.85);
    },
  },
  {
    title: "PAC-2 no refusal lowers the share below 0.05",
    options: many,
    async run(driver) {
      for (let count = 0; count < 30; count++) {
        await driver.send(small, { refused: {} });
        await driver.advance(1_000);
      }
      await driver.send(small, { refused: {} });
      await driver.expectShare(0.05);
    },
  },
  {
    title: "PAC-5 a service that is busy does not lower the share",
    options: many,
    async run(driver) {
      await driver.send(small, { refused: { tooOften: false, retryAfterMs: 5_000 } });
      expect(await driver.share()).toBe(0.995);
      await driver.expectWait(5_000);
    },
  },
  ...[14_000, 15_000, 16_000, 1e9].map((retryAfterMs) => ({
    title: `PAC-5 a Retry-After of ${retryAfterMs} ms stops all for 15 s at most`,
    options: many,
    async run(driver: Driver) {
      await driver.send(small, { refused: { retryAfterMs } });
      const stopMs = Math.min(15_000, retryAfterMs);
      const waitMs = await driver.waitMs();
      expect(waitMs).toBeGreaterThan(stopMs - 900);
      expect(waitMs).toBeLessThanOrEqual(stopMs);
    },
  })),
  {
    title: "PAC-5 a clock that is set back makes no request wait for what it has lost",
    options: many,
    async run(driver) {
      await driver.send(small, { refused: { retryAfterMs: 5_000 } });
      await driver.setBack(3_600_000);
      await driver.expectWait(5_000);
    },
  },
];

const inside = { isInside: true };

const ofTheLine: readonly Case[] = [
  {
    title: "PAC-6 what begins inside a request that has its turn waits for no other's end",
    options: { maxInFlight: 1, ...many },
    async run(driver) {
      const outer = await driver.enter();
      const other = driver.enter();
      const innermost = [await driver.enter(small, inside), await driver.enter(small, inside)];
      for (const turn of [...innermost, outer]) turn.end({});
      (await other).end({});
    },
  },
  {
    title: "PAC-6 what begins inside a request that has its turn waits for the limits of the service",
    options: { maxInFlight: 1, requestsPerMinute: 1 },
    async run(driver) {
      const outer = await driver.enter();
      expect(await driver.waitMs(inside)).toBeGreaterThan(50_000);
      outer.end({ refused: { retryAfterMs: 5_000 } });
      expect(await driver.waitMs(inside)).toBeGreaterThan(50_000);
    },
  },
  {
    title: "PAC-6 PAC-5 a Retry-After stops what begins inside a request, too",
    options: many,
    async run(driver) {
      await driver.send(small, { refused: { retryAfterMs: 14_000 } });
      expect(await driver.waitMs(inside)).toBeGreaterThan(12_000);
    },
  },
];

const ofTheCosts: readonly Case[] = [
  ...[59_000, 61_000, 2e9, Number.MAX_SAFE_INTEGER].map((reported) => ({
    title: `PAC-4 ${reported} tokens that an answer reports hold others up for a minute at most`,
    options: tokens,
    async run(driver: Driver) {
      await driver.send(none, { usage: { inputTokens: 0, outputTokens: reported } });
      await driver.expectWait(Math.min(60_000, msFor(reported)) - slackMs);
    },
  })),
  ...[59_000, 61_000, 1e9].map((estimated) => ({
    title: `PAC-4 a request that is estimated at ${estimated} tokens holds others up for a minute at most`,
    options: tokens,
    async run(driver: Driver) {
      const turn = await driver.enter({ inputTokens: estimated, outputTokens: 1 });
      await driver.expectWait(Math.min(60_000, msFor(estimated)) - slackMs);
      turn.giveBack();
      expect(await driver.waitMs()).toBe(0);
    },
  })),
  {
    title: "PAC-4 a usage that is no number changes nothing",
    options: tokens,
    async run(driver) {
      await driver.send(small, { usage: { inputTokens: Number.NaN, outputTokens: Number.NaN } });
      await driver.send(small, { usage: { inputTokens: Infinity, outputTokens: 1 } });
      await driver.advance(1_000);
      expect(await driver.waitMs()).toBe(0);
    },
  },
  {
    title: "PAC-4 an estimate is corrected by what an answer reports",
    options: tokens,
    async run(driver) {
      const turn = await driver.enter({ inputTokens: 10_000, outputTokens: 10_000 });
      await driver.expectWait(msFor(20_000) - slackMs);
      turn.end({ usage: { inputTokens: 100, outputTokens: 100 } });
      expect(await driver.waitMs()).toBe(0);
    },
  },
  ...[
    { reported: 90, ratio: 1 + 0.1 * 89 },
    { reported: 100, ratio: 1 + 0.1 * 99 },
    { reported: 110, ratio: 1 + 0.1 * 99 },
    { reported: 1e6, ratio: 1 + 0.1 * 99 },
  ].map(({ reported, ratio }) => ({
    title: `PAC-4 after ${reported} tokens for an estimate of one, later ones count ${ratio.toFixed(1)} times`,
    options: tokens,
    async run(driver: Driver) {
      await driver.send(small, { usage: { inputTokens: reported, outputTokens: reported } });
      await driver.advance(130_000);
      await driver.enter({ inputTokens: 1_000, outputTokens: 1_000 });
      await driver.expectWait(msFor(2_000 * ratio) - slackMs);
    },
  })),
  ...[131_000, 131_072, 140_000, 1e9].map((reported) => ({
    title: `PAC-4 an answer without a bound counts as earlier ones did: ${reported} tokens, and no more than any model writes`,
    options: { tokensPerMinute: 600_000 },
    async run(driver: Driver) {
      await driver.send(none, { usage: { inputTokens: 0, outputTokens: reported } });
      await driver.advance(130_000);
      await driver.enter(none);
      await driver.expectWait(msFor(Math.min(131_072, reported)) / 10 - slackMs);
    },
  })),
  {
    title: "PAC-4 a turn that is given back costs nothing",
    options: { requestsPerMinute: 60 },
    async run(driver) {
      for (let count = 0; count < 3; count++) (await driver.enter()).giveBack();
      expect(await driver.waitMs()).toBe(0);
      await driver.enter();
      expect(await driver.waitMs()).toBeGreaterThan(0);
    },
  },
  {
    title: "PAC-4 where little is left of a limit, what answers leave unused of their bounds stays charged",
    options: tokens,
    async run(driver) {
      const rateLimit = { tokensLeft: { left: 0, size: 60_000 } };
      for (let count = 0; count < 4; count++) await driver.send({ inputTokens: 0, outputTokens: 20 }, { rateLimit });
      await driver.advance(1_000);
      const bounded = { inputTokens: 0, outputTokens: 30_000 };
      await driver.send(bounded, { usage: { inputTokens: 0, outputTokens: 15_000 } });
      await driver.expectWait(msFor(30_000) - slackMs);
    },
  },
];

/** What every pace keeps, over one process or over all: one table of cases, so that no two paces differ. */
export function describePace(name: string, make: MakePace): void {
  describe(`PAC-2 PAC-4 PAC-5 PAC-6 the pace ${name}`, () => {
    test.each([...ofTheShare, ...ofTheLine, ...ofTheCosts])("$title", ({ options, run }) =>
      run(new Driver(make(options))),
    );
  });
}
