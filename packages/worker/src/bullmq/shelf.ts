// What a queue keeps in Redis: BullMQ's jobs, and beside them the states of runs that are not in it any more, and the channels.
import { DefinitionError } from "@proviso/core";
import { describeValue, parseOwnJson } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { Journal, RunState } from "@proviso/journal";
import { Queue } from "bullmq";
import type { QueuedRun } from "../attempt.ts";
import type { RunProgress } from "../progress.ts";
import { Connections } from "./connections.ts";

/** Where the queue is, and what its runs are kept in. */
export interface RedisOptions {
  /** `redis://host:port`, or `rediss://` with TLS. */
  readonly url: string;
  /** The name of the queue: letters, digits, `-`, `_` and `.`, at most 100. Default "proviso-runs". */
  readonly queue?: string | undefined;
  /** What the runs are kept in: the same for the queue and all of its workers. */
  readonly journal: Journal;
}

/** What BullMQ keeps of a run. */
export interface JobData extends QueuedRun {
  /** How often it failed in a way that may pass. */
  readonly failures: number;
  /** The steps that it had when a worker was lost, and how many had been lost before one of those. Left out: none was. */
  readonly gained?: { readonly steps: number; readonly losses: number } | undefined;
  /** Whether it was added again after the queue had given it up. Left out: it was not. */
  readonly again?: true | undefined;
}

/** A run that is not in the queue: it has ended, or waits for a decision. */
export interface Standing {
  readonly state: Exclude<RunState, "open">;
  /** Whether it failed with what its journal does not have: it goes on where it is added again. Left out: it did not. */
  readonly isGivenUp?: boolean | undefined;
  /** Why it ended. */
  readonly message?: string | undefined;
}

/** A message to the worker that has a run. */
export interface Cancelling {
  readonly id: string;
  readonly reason?: string | undefined;
}

/** What follows the state of a run that was given up. */
const givenUp = " given up";

const optionNames = { url: true, queue: true, journal: true } as const;

/** Sets the state of a run, and counts it. */
const setState = `
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old then redis.call('HINCRBY', KEYS[2], string.match(old, '^[a-z]+'), -1) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HINCRBY', KEYS[2], string.match(ARGV[2], '^[a-z]+'), 1)
return 1`;

/**
 * Takes away that a run waits for a decision, or that it was given up, where it was added again. Another end stays: a worker
 * may take a job up late that another one has ended.
 */
const setGoing = `
local old = redis.call('HGET', KEYS[1], ARGV[1])
local state = old and string.match(old, '^[a-z]+')
if state == 'suspended' or (state == 'failed' and ARGV[2] == 'again') then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HINCRBY', KEYS[2], state, -1)
end
return 1`;

/**
 * Notes who added a run first; returns whether it is this one, also where it is asked twice because the answer was lost. A
 * run that has ended and that its journal has lost is a new one.
 */
const claim = `
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[3] == 'lost' and old and string.match(old, '^[a-z]+') ~= 'suspended' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HINCRBY', KEYS[2], string.match(old, '^[a-z]+'), -1)
  redis.call('HDEL', KEYS[3], ARGV[1])
end
redis.call('HSETNX', KEYS[3], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[3], ARGV[1]) == ARGV[2] and 1 or 0`;

/** Takes away that this one added the run first. */
const unclaim = `
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1`;

/** One queue in one Redis. */
export class Shelf implements AsyncDisposable {
  readonly url: string;
  readonly queueName: string;
  readonly journal: Journal;
  readonly connections: Connections;
  #jobs: Queue<JobData> | undefined;

  constructor(caller: string, options: RedisOptions, otherNames: Readonly<Record<string, true>> = {}) {
    checkOptionNames(caller, options, { ...optionNames, ...otherNames });
    const { url, queue = "proviso-runs", journal } = options;
    if (typeof url !== "string" || !/^rediss?:\/\//u.test(url)) {
      throw new DefinitionError(`${caller}: url must begin with redis:// or rediss://, not ${describeValue(url)}.`);
    }
    if (typeof queue !== "string" || !/^[\w.-]{1,100}$/u.test(queue)) {
      throw new DefinitionError(
        `${caller}: queue must be 1 to 100 letters, digits, "-", "_" or ".", not ${describeValue(queue)}.`,
      );
    }
    if (typeof journal?.describe !== "function") {
      throw new DefinitionError(`${caller} needs a journal, not ${describeValue(journal)}.`);
    }
    this.url = url;
    this.queueName = queue;
    this.journal = journal;
    this.connections = new Connections(url);
  }

  /** The name of a key or channel of this queue. */
  key(name: "states" | "counts" | "adders" | "cancel" | "progress" | "ended"): string {
    return `proviso:{${this.queueName}}:${name}`;
  }

  /** The jobs of the queue, over the connection of its commands. */
  async jobs(): Promise<Queue<JobData>> {
    const connection = await this.connections.commands();
    if (this.#jobs === undefined) {
      this.#jobs = new Queue(this.queueName, { connection });
      // Connections are made again by themselves.
      this.#jobs.on("error", () => {});
    }
    return this.#jobs;
  }

  /** Adds the job of a run. BullMQ keeps the first job of an id. */
  async addJob(promptName: string, data: JobData, delayMs: number): Promise<void> {
    const { id, priority } = data;
    const options = { jobId: jobIdOf(id), delay: delayMs, removeOnComplete: true, removeOnFail: true };
    await (await this.jobs()).add(promptName, data, { ...options, ...(priority !== undefined && { priority }) });
  }

  async setStanding(id: string, standing: Standing): Promise<void> {
    const redis = await this.connections.commands();
    const text = `${standing.state}${standing.isGivenUp === true ? givenUp : ""}\n${standing.message ?? ""}`;
    await redis.eval(setState, 2, this.key("states"), this.key("counts"), jobIdOf(id), text);
    await this.send("ended", { id });
  }

  /** The run is worked on: it waits for no decision. `isAgain`: it was added again after it was given up. */
  async setGoing(id: string, isAgain: boolean): Promise<void> {
    const redis = await this.connections.commands();
    await redis.eval(setGoing, 2, this.key("states"), this.key("counts"), jobIdOf(id), isAgain ? "again" : "");
  }

  /**
   * Whether this is the first that adds the run, which its journal does not have: of several at once, in whichever process,
   * one is. `isLost`: it has ended, so that its journal had it.
   */
  async claim(id: string, nonce: string, isLost: boolean): Promise<boolean> {
    const redis = await this.connections.commands();
    const keys = [this.key("states"), this.key("counts"), this.key("adders")];
    return (await redis.eval(claim, keys.length, ...keys, jobIdOf(id), nonce, isLost ? "lost" : "")) === 1;
  }

  /** The run could not be added after all: the next one that adds it is the first. */
  async unclaim(id: string, nonce: string): Promise<void> {
    const redis = await this.connections.commands();
    await redis.eval(unclaim, 1, this.key("adders"), jobIdOf(id), nonce);
  }

  async standing(id: string): Promise<Standing | undefined> {
    const text = await (await this.connections.commands()).hget(this.key("states"), jobIdOf(id));
    if (text === null) return undefined;
    const [head = "", ...message] = text.split("\n");
    const isGivenUp = head.endsWith(givenUp);
    const state = (isGivenUp ? head.slice(0, -givenUp.length) : head) as Standing["state"];
    return { state, isGivenUp, message: message.join("\n") || undefined };
  }

  async counts(): Promise<Readonly<Record<Standing["state"], number>>> {
    const counts = await (await this.connections.commands()).hgetall(this.key("counts"));
    const of = (state: Standing["state"]): number => Number(counts[state] ?? 0);
    return { suspended: of("suspended"), executed: of("executed"), failed: of("failed"), cancelled: of("cancelled") };
  }

  async send(channel: "cancel", message: Cancelling): Promise<void>;
  async send(channel: "progress", message: RunProgress): Promise<void>;
  async send(channel: "ended", message: { readonly id: string }): Promise<void>;
  async send(channel: "cancel" | "progress" | "ended", message: object): Promise<void> {
    await (await this.connections.commands()).publish(this.key(channel), JSON.stringify(message));
  }

  /** Calls `listener` until the returned function is called. A message that is no JSON is not ours. */
  receive<Message>(
    channel: "cancel" | "progress" | "ended",
    listener: (message: Message) => void,
  ): Promise<() => void> {
    return this.connections.subscribe(this.key(channel), (text) => {
      const read = parseOwnJson(text);
      if (read.ok) listener(read.value as Message);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#jobs?.close().catch(() => {});
    await this.connections[Symbol.asyncDispose]();
  }
}

/** BullMQ refuses ids with a colon, and those that are numbers. As JSON, half a surrogate pair is a text like others. */
export function jobIdOf(run: string): string {
  return `run-${Buffer.from(JSON.stringify(run)).toString("base64url")}`;
}
