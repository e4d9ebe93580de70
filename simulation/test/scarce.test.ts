import { expect, test } from "vitest";
import { simulated } from "./run.ts";

test(
  "FS-3 TX-1 whatever the system refuses, a folder holds what the calls that succeeded wrote",
  { timeout: 120_000 },
  async () => {
    const { code, said } = await simulated(1, 150, undefined, "scarce.ts");
    expect(said).toContain("150 seeds from 1, no violation");
    expect(code).toBe(0);
  },
);
