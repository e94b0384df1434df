/** Ten calls through the client that orval generates; copied beside it, compiled and run by clients.test.ts. */
import * as barid from "./orval/barid.ts";

const signedIn = { headers: { authorization: `Bearer ${process.env.BARID_TOKEN}` } };

const me = await barid.getTenantsMe({}, signedIn);
const deliveries = await barid.getDeliveryDeliveries({ limit: 5 }, signedIn);
const first: number | undefined = deliveries.status === 200
  ? deliveries.data.data[0]?.delivery_code
  : undefined;
const type = { code: "orval", name: "Orval" };
const made = await barid.postDeliveryDeliveryTypes(type, {}, signedIn);
const refused = await barid.postDeliveryCodCollectionsRemit({ scope: "selected" }, {}, signedIn);
const answers = [
  me,
  deliveries,
  made,
  refused,
  await barid.getDeliveryServices({ page: 1 }, signedIn),
  await barid.getDeliveryZones({}, signedIn),
  await barid.getDeliveryCodCollections({ status: "collected" }, signedIn),
  await barid.getWarehousingWarehouses({}, signedIn),
  await barid.getWarehousingInventory({ limit: 1 }, signedIn),
  await barid.getTenantsMeNotifications({}, signedIn),
];
console.log(JSON.stringify({
  statuses: answers.map(({ status }) => status),
  user: me.status === 200 ? me.data.user.id : undefined,
  first: typeof first,
  code: refused.status === 400 ? refused.data.code : undefined,
}));
