// 1. Every form is found that stands in the text, or in what it reads as when its escapes are read, some times over.
// 2. Each reading takes each character once: the work is linear in text and forms.
import { EscapeReader, jsonInJson, mayHaveEscapes } from "./escapes.ts";
import { machineFor, type Machine, type State } from "./machine.ts";

/** A part of a text. */
export interface Part {
  readonly start: number;
  /** The place behind it. */
  readonly end: number;
}

/** Looks for forms in a text that comes in pieces. */
export interface Finder {
  /** What was found and begins before the place that was returned last, in order and apart from each other. */
  readonly found: Part[];
  /** Nothing that is found later begins before the place that is returned. */
  add(piece: string): number;
  /** No more comes: all is found. */
  end(): number;
}

/** `escapes`: those that may be part of a form. */
export function finderOf(forms: readonly string[], escapes: RegExp): () => Finder {
  let machine: Machine | undefined;
  return () => openFinder((machine ??= machineFor(forms)), escapes);
}

function openFinder(machine: Machine, escapes: RegExp): Finder {
  const found: Part[] = [];
  const whole = new Reading(machine);
  /** Each reads the escapes of the one before it. */
  const readings = [whole];

  const read = (piece: string, isEnd: boolean): void => {
    let text = piece;
    for (let depth = 0; depth < readings.length; depth++) {
      const reading = readings[depth] as Reading;
      text = reading.textOf(text, isEnd);
      // The next reading is the same until there is an escape.
      if (depth + 1 === readings.length && depth < jsonInJson && mayHaveEscapes(text, escapes))
        readings.push(new Reading(machine, reading));
      reading.take(text);
    }
  };
  const collect = (until: number): number => {
    const parts = readings.length === 1 ? whole.found(until) : readings.flatMap((reading) => reading.found(until));
    if (readings.length > 1) parts.sort((one, other) => one.start - other.start);
    for (const { start, end } of parts) addTo(found, start, end);
    return until;
  };
  return {
    found,
    add(piece) {
      read(piece, false);
      let place = Infinity;
      for (let depth = readings.length - 1; depth >= 0; depth--) place = (readings[depth] as Reading).heldBefore(place);
      return collect(place);
    },
    end() {
      read("", true);
      return collect(whole.length);
    },
  };
}

/** A text as it is, or as another reading of it reads when its escapes are read. */
class Reading {
  /** Characters that were taken. */
  length: number;
  readonly #machine: Machine;
  #state: State;
  readonly #before: Reading | undefined;
  readonly #escapes: EscapeReader | undefined;
  readonly #found: Part[] = [];

  constructor(machine: Machine, before?: Reading) {
    this.#machine = machine;
    this.#before = before;
    this.#state = before === undefined ? machine.start : before.#state;
    this.length = before === undefined ? 0 : before.length;
    this.#escapes = before && new EscapeReader(before.length);
  }

  /** Returns what it reads in the next piece of the reading before it. */
  textOf(piece: string, isEnd: boolean): string {
    if (this.#escapes === undefined) return piece;
    const text = this.#escapes.read(piece);
    return isEnd ? text + this.#escapes.end() : text;
  }

  take(text: string): void {
    const machine = this.#machine;
    let state = this.#state;
    for (let at = 0; at < text.length; at++) {
      state = machine.next(state, text.charCodeAt(at));
      if (state.found === 0) continue;
      const end = this.length + at + 1;
      addTo(this.#found, this.#placeOf(end - state.found), this.#placeOf(end));
    }
    this.#state = state;
    this.length += text.length;
  }

  /** Takes what was found and begins before a place of the text. */
  found(until: number): Part[] {
    const found = this.#found;
    let done = 0;
    while (done < found.length && (found[done] as Part).start < until) done += 1;
    return done === 0 ? nothing : found.splice(0, done);
  }

  /**
   * Returns where, in the reading before this one, something begins that may become a form, or that a later reading holds
   * from `place` on. No place before that will be asked for any more.
   */
  heldBefore(place: number): number {
    const from = Math.min(place, this.length - this.#state.held);
    if (this.#escapes === undefined) return from;
    this.#escapes.forget(from);
    return this.#escapes.placeOf(from);
  }

  /** Returns where a place of this reading is in the text. */
  #placeOf(at: number): number {
    if (this.#escapes === undefined || this.#before === undefined) return at;
    return this.#before.#placeOf(this.#escapes.placeOf(at));
  }
}

const nothing: Part[] = [];

/** Adds a part that ends behind all others, or begins so; it becomes one with those that it overlaps. */
function addTo(found: Part[], from: number, to: number): void {
  let [start, end] = [from, to];
  for (let last = found.at(-1); last !== undefined && last.end > start; last = found.at(-1)) {
    start = Math.min(start, last.start);
    end = Math.max(end, last.end);
    found.pop();
  }
  found.push({ start, end });
}
