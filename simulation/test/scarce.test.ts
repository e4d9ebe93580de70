import { expect, inject, test } from "vitest";
import { simulated } from "./run.ts";

const seeds = inject("exhaustive") ? 150 : 15;

test(
  "FS-3 TX-1 whatever the system refuses, a folder holds what the calls that succeeded wrote",
  { timeout: 1_800_000 },
  async () => {
    const { code, said } = await simulated(1, seeds, undefined, "scarce.ts");
    expect(said).toContain(`${seeds} seeds from 1, no violation`);
    expect(code).toBe(0);
  },
);
