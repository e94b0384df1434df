import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { denoBinary, root } from "../../../supabase/local/paths.ts";
import { denoEnvironment } from "../../../supabase/local/worker-process.ts";
import type { StepResult } from "./steps.ts";

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv;
  /** Where it runs; the repository's root unless said. */
  cwd?: string;
  /** Every line as it is written; stdout and stderr alike. */
  onLine?: (line: string) => void;
}

export interface ProgramResult {
  code: number;
  lines: string[];
}

/** Runs a program without a terminal and without input. */
export function runProgram(
  command: string,
  args: string[],
  { env = process.env, cwd = root, onLine }: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...env, NO_COLOR: "1", FORCE_COLOR: undefined },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const lines: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        onLine?.(line);
      });
    }
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (signal) lines.push(`ended by ${signal}`);
      resolve({ code: code ?? 1, lines });
    });
  });
}

/** A program of an installed package, run by this Node. */
export function runPackage(file: string, args: string[], options: ProgramOptions = {}) {
  return runProgram(process.execPath, [join(root, "node_modules", file), ...args], options);
}

/** The compiler that checks: TypeScript 7. The one before it stays installed for the packages that use its API. */
export function runTypeScript(args: string[], options: ProgramOptions = {}) {
  return runPackage("typescript-7/bin/tsc", args, options);
}

/** Deno, as the functions have it. */
export function runDeno(args: string[]): Promise<ProgramResult> {
  return runProgram(denoBinary(), args, {
    env: { HOME: process.env.HOME, ...denoEnvironment() },
  });
}

/** One thing that is right or wrong, with what the program said when it is wrong. */
export function verdict({ code, lines }: ProgramResult): StepResult {
  return code === 0 ? { passed: 1 } : { failed: 1, details: lines };
}

/** A list of findings; right when it is empty. */
export function findings(list: string[]): StepResult {
  return list.length === 0 ? { passed: 1 } : { failed: 1, details: list };
}
