// A client in a process of its own that asks one question over many connections: node --import tsx flood.ts <json>
import { load } from "../bench/load.ts";

const { url, token, connections, seconds } = JSON.parse(process.argv[2]);
const result = await load(url, { authorization: `Bearer ${token}` }, connections, seconds);
console.log(JSON.stringify(result));
