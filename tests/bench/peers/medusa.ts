/** Medusa 2, installed from npm into a folder of its own, with a database on the same server. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { root } from "../../../supabase/local/paths.ts";
import { freePort } from "../../../supabase/local/ports.ts";
import { databaseAt } from "../../support/template.ts";
import type { Bench } from "../bench-stack.ts";
import { demand, products, scarce, send, type Shop } from "./shop.ts";

const source = join(root, "tests/bench/peers/medusa");
const folder = join(root, ".barid/peers/medusa");
const database = "medusa";
const startsWithinMs = 120_000;
/** Of a product what our list says of one as well. */
const fields = "id,title,description,thumbnail,variants.id,variants.title,variants.sku," +
  "variants.calculated_price.calculated_amount,variants.calculated_price.currency_code";

interface Seeded {
  key: string;
  region: string;
  option: string;
  variants: string[];
}

export async function openMedusa({ stack }: Bench): Promise<Shop> {
  const version = await install();
  await stack.sql.unsafe(`create database ${database}`);
  const seeded = join(folder, "seeded.json");
  const env = {
    ...process.env,
    DATABASE_URL: databaseAt(stack.dbUrl, database),
    NODE_ENV: "production",
    LOG_LEVEL: "error",
    MEDUSA_DISABLE_TELEMETRY: "true",
    BENCH_SEEDED: seeded,
    BENCH_PRODUCTS: String(products),
    BENCH_SCARCE: String(scarce),
  };
  const medusa = join(folder, "node_modules/.bin/medusa");
  console.log("       making Medusa's database ...");
  await run(medusa, ["db:migrate"], env);
  await run(medusa, ["exec", "./seed.js"], env);
  const { key, region, option, variants } = JSON.parse(readFileSync(seeded, "utf8")) as Seeded;
  const port = await freePort();
  const child = spawn(medusa, ["start"], {
    cwd: folder,
    env: { ...env, PORT: String(port) },
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  await healthy(url, child);

  const store = `${url}/store`;
  const headers = { "x-publishable-api-key": key };
  const readyCart = async (variant_id: string) => {
    const { cart } = await demand(`${store}/carts`, {
      region_id: region,
      email: "buyer@bench.test",
      shipping_address: {
        first_name: "A",
        last_name: "B",
        address_1: "Street 1",
        city: "Baghdad",
        country_code: "iq",
        phone: "+9647701234567",
      },
      items: [{ variant_id, quantity: 1 }],
    }, headers);
    await demand(`${store}/carts/${cart.id}/shipping-methods`, { option_id: option }, headers);
    const { payment_collection: { id } } = await demand(`${store}/payment-collections`, {
      cart_id: cart.id,
    }, headers);
    await demand(`${store}/payment-collections/${id}/payment-sessions`, {
      provider_id: "pp_system_default",
    }, headers);
    return cart.id as string;
  };
  const complete = async (cart: string) => {
    const { body } = await send(`${store}/carts/${cart}/complete`, {}, headers);
    return body.type === "order";
  };
  let placed = 0;
  return {
    name: `Medusa ${version}`,
    list: {
      url: `${store}/products?limit=20&order=-created_at&region_id=${region}&fields=${fields}`,
      headers,
    },
    requestsPerOrder: 5,
    async order() {
      const cart = await readyCart(variants[placed++ % (products - 1)]!);
      if (!await complete(cart)) throw new Error("Medusa refused an order");
    },
    async prepare() {
      const cart = await readyCart(variants.at(-1)!);
      return () => complete(cart);
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
    },
  };
}

/** Installs it where it is not there yet, and answers its version. */
async function install(): Promise<string> {
  mkdirSync(folder, { recursive: true });
  cpSync(source, folder, { recursive: true });
  const packaged = join(folder, "node_modules/@medusajs/medusa/package.json");
  if (!existsSync(packaged)) {
    console.log("       installing Medusa from npm, about 700 MB, a minute or two ...");
    await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], process.env);
  }
  return JSON.parse(readFileSync(packaged, "utf8")).version as string;
}

/** Runs a program in Medusa's folder; what it printed is said where it fails. */
function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, env });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => (printed += bytes));
    }
    child.on("error", reject);
    child.on(
      "close",
      (code) =>
        code === 0
          ? resolve()
          : reject(new Error(`${command} ${args.join(" ")}: ${printed.slice(-2_000)}`)),
    );
  });
}

async function healthy(url: string, child: ChildProcess): Promise<void> {
  const until = Date.now() + startsWithinMs;
  while (child.exitCode === null && Date.now() < until) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return;
    await wait(250);
  }
  child.kill();
  throw new Error("Medusa did not start");
}
