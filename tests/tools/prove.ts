/**
 * `npm run prove -- <name ...> [--seed N] [--short] [--postgres DIR]` and `npm run prove -- all`: the proofs of
 * tests/prove, each with its seed, bounded in time. Figures are written to tests/prove/results.md with machine and date.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proofs } from "../prove/catalogue.ts";
import type { Figure, Size } from "../prove/proof.ts";
import { readResults, writeResults } from "../prove/results.ts";
import { closing, prove } from "./checks/steps.ts";
import { vitestStep } from "./checks/vitest.ts";

const { names, size, seed, postgres } = readArguments(process.argv.slice(2));
const dir = mkdtempSync(join(tmpdir(), "barid-prove-"));
const total = { passed: 0, failed: 0, skipped: 0 };
try {
  for (const name of names) await run(name);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = closing(total);

async function run(name: string): Promise<void> {
  const { shows, files, minutes } = proofs[name];
  const limit = size === "full" ? `at most ${minutes} minutes` : "short form";
  console.log(`\n${name}: ${shows}\n  seed ${seed}, ${limit}`);
  const file = join(dir, `${name}.jsonl`);
  const began = performance.now();
  const outcome = await prove([[
    vitestStep(name, [...files, "--no-file-parallelism"], {
      BARID_PROVE: size,
      BARID_PROVE_SEED: String(seed),
      BARID_PROVE_FIGURES: file,
      ...(postgres ? { BARID_PROVE_POSTGRES: postgres } : {}),
    }),
  ]]);
  const figures = readFigures(file);
  for (const { what, asked, reached, holds } of figures) {
    console.log(`  ${holds ? "ok  " : "MISS"} ${what}: ${reached} (asked: ${asked})`);
  }
  for (const kind of ["passed", "failed", "skipped"] as const) total[kind] += outcome[kind];
  // A proof that could not run here changes nothing: its last result stays.
  if (outcome.passed + outcome.failed === 0) return;
  // Read only now: another proof may have ended meanwhile.
  const results = readResults();
  results[name] = {
    size,
    seed,
    date: new Date().toISOString().slice(0, 10),
    seconds: Math.round((performance.now() - began) / 1000),
    failed: outcome.failed,
    figures,
  };
  writeResults(results);
}

function readFigures(file: string): Figure[] {
  try {
    return readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function readArguments(
  args: string[],
): { names: string[]; size: Size; seed: number; postgres?: string } {
  const names: string[] = [];
  let size: Size = "full";
  let seed = Date.now() % 1_000_000_000;
  let postgres: string | undefined;
  while (args.length) {
    const argument = args.shift()!;
    if (argument === "all") {
      names.push(...Object.keys(proofs));
      size = "short";
    } else if (argument === "--short") size = "short";
    else if (argument === "--seed" && /^\d+$/.test(args[0] ?? "")) seed = Number(args.shift());
    else if (argument === "--postgres" && existsSync(join(args[0] ?? "", "bin", "postgres"))) {
      postgres = args.shift();
    } else if (Object.hasOwn(proofs, argument)) names.push(argument);
    else usage(`Unknown: "${argument}".`);
  }
  if (!names.length) usage("Say which.");
  return { names, size, seed, postgres };
}

function usage(problem: string): never {
  console.error(`${problem} npm run prove -- all, or any of:`);
  for (const [name, { shows }] of Object.entries(proofs)) {
    console.error(`  ${name.padEnd(12)}${shows}`);
  }
  console.error("Options: --seed N repeats a run, --short runs the form of `all`,");
  console.error(
    "--postgres DIR takes that installation (/usr/lib/postgresql/15) instead of the embedded one.",
  );
  process.exit(2);
}
