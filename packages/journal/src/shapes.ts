// Checks of plain JSON by its shape.
import { isRecord } from "@proviso/core/provider";

export type Check = (value: unknown) => boolean;

/** A check for each field of a type: the compiler asks for one where a field is added. */
export type Checks<T> = { readonly [Name in keyof T]-?: Check };

export const anything: Check = () => true;
export const text: Check = (value) => typeof value === "string";
export const flag: Check = (value) => typeof value === "boolean";
export const count: Check = (value) => Number.isSafeInteger(value);
/** A number; JSON has null for one that is infinite. */
export const number: Check = (value) => typeof value === "number" || value === null;
/** Epoch milliseconds that a Date can have. */
export const time: Check = (value) => typeof value === "number" && Math.abs(value) <= 8.64e15;

export function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

export function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return false;
    for (const item of value) if (!check(item)) return false;
    return true;
  };
}

/** An object that has these fields, and perhaps others. */
export function shape<T>(checks: Checks<T>): Check {
  const names = Object.keys(checks) as (keyof T & string)[];
  const all = names.map((name) => checks[name]);
  return (value) => {
    if (!isRecord(value)) return false;
    for (let place = 0; place < names.length; place++) {
      if (!all[place]!(value[names[place]!])) return false;
    }
    return true;
  };
}
