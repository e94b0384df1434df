/** The texts of each function in each language, put together; `general` is what several say. */
import carriersAr from "./carriers.ar.json" with { type: "json" };
import carriersEn from "./carriers.en.json" with { type: "json" };
import carriersKu from "./carriers.ku.json" with { type: "json" };
import deliveryAr from "./delivery.ar.json" with { type: "json" };
import deliveryEn from "./delivery.en.json" with { type: "json" };
import deliveryKu from "./delivery.ku.json" with { type: "json" };
import generalAr from "./general.ar.json" with { type: "json" };
import generalEn from "./general.en.json" with { type: "json" };
import generalKu from "./general.ku.json" with { type: "json" };
import paymentAr from "./payment.ar.json" with { type: "json" };
import paymentEn from "./payment.en.json" with { type: "json" };
import paymentKu from "./payment.ku.json" with { type: "json" };
import storefrontAr from "./storefront.ar.json" with { type: "json" };
import storefrontEn from "./storefront.en.json" with { type: "json" };
import storefrontKu from "./storefront.ku.json" with { type: "json" };
import tenantsAr from "./tenants.ar.json" with { type: "json" };
import tenantsEn from "./tenants.en.json" with { type: "json" };
import tenantsKu from "./tenants.ku.json" with { type: "json" };
import warehousingAr from "./warehousing.ar.json" with { type: "json" };
import warehousingEn from "./warehousing.en.json" with { type: "json" };
import warehousingKu from "./warehousing.ku.json" with { type: "json" };
import webhooksAr from "./webhooks.ar.json" with { type: "json" };
import webhooksEn from "./webhooks.en.json" with { type: "json" };
import webhooksKu from "./webhooks.ku.json" with { type: "json" };

export const ar = {
  ...carriersAr,
  ...deliveryAr,
  ...generalAr,
  ...paymentAr,
  ...storefrontAr,
  ...tenantsAr,
  ...warehousingAr,
  ...webhooksAr,
};
export const en = {
  ...carriersEn,
  ...deliveryEn,
  ...generalEn,
  ...paymentEn,
  ...storefrontEn,
  ...tenantsEn,
  ...warehousingEn,
  ...webhooksEn,
};
export const ku = {
  ...carriersKu,
  ...deliveryKu,
  ...generalKu,
  ...paymentKu,
  ...storefrontKu,
  ...tenantsKu,
  ...warehousingKu,
  ...webhooksKu,
};

/** By language. A bundle keeps each as text until somebody reads in it (supabase/deploy/bundle/plugins.ts). */
export const catalogues = { ar, en, ku };
