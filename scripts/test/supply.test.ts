import { describe, expect, test } from "vitest";
import { buildsIn, lockfileFaults, packageFaults, workspaceFaults } from "../supply-faults.ts";

const fine = { name: "fine", version: "1.0.0", license: "MIT" };

describe("SEC-6 what others wrote", () => {
  test.each(["MIT", "ISC", "Apache-2.0", "(MIT OR GPL-3.0)", "(MIT AND Zlib)", { type: "BSD-3-Clause" }])(
    "SEC-6 %o may be used",
    (license) => {
      expect(packageFaults({ ...fine, license }, [])).toEqual([]);
    },
  );

  test.each([undefined, "", "GPL-3.0", "MIT AND GPL-3.0", "SEE LICENSE IN x", "MPL-2.0"])(
    "SEC-6 %o may not",
    (license) => {
      expect(packageFaults({ ...fine, license }, [])).toHaveLength(1);
    },
  );

  test("SEC-6 an exception is for one tool", () => {
    expect(packageFaults({ ...fine, name: "lightningcss-linux-x64-gnu", license: "MPL-2.0" }, [])).toEqual([]);
    expect(packageFaults({ ...fine, name: "lightningcsser", license: "MPL-2.0" }, [])).toHaveLength(1);
    const server = { ...fine, name: "@modelcontextprotocol/server-everything" };
    expect(packageFaults({ ...server, license: "SEE LICENSE IN LICENSE" }, [])).toEqual([]);
    expect(packageFaults({ ...server, license: "GPL-3.0" }, [])).toHaveLength(1);
  });

  test("SEC-6 a script that would run where it is installed is a fault, unless the workspace has decided on it", () => {
    for (const script of ["preinstall", "install", "postinstall"]) {
      const running = { ...fine, scripts: { [script]: "node evil.js", test: "x" } };
      expect(packageFaults(running, [])).toEqual([`fine@1.0.0 runs ${script}`]);
      expect(packageFaults(running, ["fine"])).toEqual([]);
    }
    expect(packageFaults({ ...fine, scripts: { prepublishOnly: "x" } }, [])).toEqual([]);
  });
});

test("SEC-6 a workspace waits a day, and says who may run scripts", () => {
  expect(workspaceFaults("allowBuilds: {}\nminimumReleaseAge: 1440\n")).toEqual([]);
  expect(workspaceFaults("allowBuilds: {}\nminimumReleaseAge: 60\n")).toHaveLength(1);
  expect(workspaceFaults("")).toHaveLength(2);
  expect(buildsIn("allowBuilds: {}\n")).toEqual([]);
  expect(buildsIn('allowBuilds:\n  esbuild: true\n  "@a/b": true\n  other: false\nnext: 1\n')).toEqual([
    "esbuild",
    "@a/b",
    "other",
  ]);
});

test("SEC-6 a lockfile has a hash for each package, and no other source than the registry", () => {
  const entry = (resolution: string): string => `packages:\n  a@1.0.0:\n    resolution: ${resolution}\n`;
  expect(lockfileFaults(entry("{integrity: sha512-abc==}"))).toEqual([]);
  for (const odd of [
    "{integrity: sha1-abc}",
    "{tarball: https://x/a.tgz}",
    "{integrity: sha512-a, tarball: https://x}",
  ]) {
    expect(lockfileFaults(entry(odd))).toHaveLength(1);
  }
  expect(lockfileFaults("")).toHaveLength(1);
});
