import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { hasRedis } from "../redis.ts";

const run = promisify(execFile);
const program = [...fromSources, join(import.meta.dirname, "..", "main.ts")];

test.skipIf(!hasRedis())(
  "FLT-2 FLT-5 EFF-7 a killed worker and one that was stopped: each run ends once, and each room is booked once",
  { timeout: 300_000 },
  async () => {
    const runs = inject("exhaustive") ? 60 : 30;
    const { stdout } = await run(process.execPath, [...program, `${runs}`]);
    const [executed, booked, takenOver] = stdout.split("\n");
    expect(executed).toMatch(new RegExp(`^${runs} of ${runs} runs executed in [\\d.]+ s$`));
    expect(booked).toBe(`bookings    ${runs} rows for ${runs} guests`);
    expect(takenOver).toMatch(/^taken over {2}\d+ runs/);
  },
);

test(
  "DEMO-1 without a Redis it says what is missing, and a wrong number is refused",
  { timeout: 300_000 },
  async () => {
    const env = { ...process.env, PATH: "" };
    const missing = await run(process.execPath, program, { env }).catch((error: unknown) => error);
    expect(missing).toMatchObject({ code: 2, stdout: "", stderr: /redis-server is missing: install it/ });
    const wrong = await run(process.execPath, [...program, "many"]).catch((error: unknown) => error);
    expect(wrong).toMatchObject({ code: 2, stderr: /whole number from 20, not many/ });
  },
);

test.runIf(!hasRedis())("FLT-2 redis-server is not installed: the fleet was not tried", (context) => {
  context.skip("apt-get install redis-server");
});
