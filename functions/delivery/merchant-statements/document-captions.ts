/** The words of a statement's document, in the three languages. */
import type { Language } from "../../../shared/i18n/index.ts";

export interface StatementCaptions {
  title: string;
  states: { open: string; paid: (moment: string) => string; void: (moment: string) => string };
  /** Beside the number on every page of a void statement. */
  void_mark: string;
  number: string;
  opened: string;
  merchant: string;
  period: string;
  payout: string;
  methods: { cash: string; bank: string; gateway_transfer: string };
  reference: string;
  confirmed: string;
  reason: string;
  order: string;
  own_reference: string;
  collected: string;
  cod: string;
  fee: string;
  other: string;
  amount: string;
  fees: string;
  refunds: string;
  adjustments: string;
  net: string;
  total: string;
  rows: string;
  /** Rows without a delivery, by their kind. */
  kinds: {
    kept: string;
    kept_before: string;
    opening: string;
    cod: string;
    delivery_fee: string;
    refund: string;
    adjustment: string;
  };
  verify: string;
  page: (page: number, pages: number) => string;
}

export const statementCaptions: Record<Language, StatementCaptions> = {
  en: {
    title: "Merchant statement",
    states: {
      open: "Not paid out yet",
      paid: (moment) => `Paid out on ${moment}`,
      void: (moment) => `VOID since ${moment}: this statement does not count`,
    },
    void_mark: "VOID",
    number: "Statement",
    opened: "Date",
    merchant: "Merchant",
    period: "Period",
    payout: "Payout",
    methods: { cash: "Cash", bank: "Bank", gateway_transfer: "Transfer by a payment service" },
    reference: "Reference of the payout",
    confirmed: "Received by the merchant",
    reason: "Reason",
    order: "Order",
    own_reference: "Your reference",
    collected: "Collected",
    cod: "COD",
    fee: "Fee",
    other: "Other",
    amount: "Amount",
    fees: "Delivery fees",
    refunds: "Refunds",
    adjustments: "Adjustments",
    net: "Due to you",
    total: "Total",
    rows: "Rows",
    kinds: {
      kept: "Stays in the wallet",
      kept_before: "Stayed in the wallet before",
      opening: "Balance before the first statement",
      cod: "COD",
      delivery_fee: "Delivery fee",
      refund: "Refund",
      adjustment: "Adjustment",
    },
    verify: "Scan to verify",
    page: (page, pages) => `Page ${page} of ${pages}`,
  },
  ar: {
    title: "كشف حساب تاجر",
    states: {
      open: "لم يُصرف بعد",
      paid: (moment) => `صُرف في ${moment}`,
      void: (moment) => `أُلغي كشف الحساب هذا في ${moment} ولم يعد سارياً`,
    },
    void_mark: "ملغى",
    number: "رقم الكشف",
    opened: "التاريخ",
    merchant: "التاجر",
    period: "الفترة",
    payout: "طريقة الصرف",
    methods: { cash: "نقداً", bank: "مصرف", gateway_transfer: "تحويل عبر خدمة دفع" },
    reference: "مرجع الصرف",
    confirmed: "أكّد التاجر الاستلام",
    reason: "السبب",
    order: "الطلب",
    own_reference: "مرجعك",
    collected: "وقت التحصيل",
    cod: "ثمن الطلب",
    fee: "أجرة التوصيل",
    other: "أخرى",
    amount: "المبلغ",
    fees: "أجور التوصيل",
    refunds: "المبالغ المستردة",
    adjustments: "التعديلات",
    net: "المستحق لك",
    total: "المجموع",
    rows: "عدد البنود",
    kinds: {
      kept: "يبقى في المحفظة",
      kept_before: "بقي في المحفظة سابقاً",
      opening: "الرصيد قبل أول كشف",
      cod: "ثمن الطلب",
      delivery_fee: "أجرة التوصيل",
      refund: "مبلغ مسترد",
      adjustment: "تعديل",
    },
    verify: "امسح للتحقق",
    page: (page, pages) => `صفحة ${page} من ${pages}`,
  },
  ku: {
    title: "کەشفی حسابی بازرگان",
    states: {
      open: "هێشتا نەدراوە",
      paid: (moment) => `دراوە لە ${moment}`,
      void: (moment) => `ئەم کەشفی حسابە لە ${moment} هەڵوەشێنرایەوە و چیتر کاری پێ ناکرێت`,
    },
    void_mark: "هەڵوەشێنراوەتەوە",
    number: "ژمارەی کەشف",
    opened: "بەروار",
    merchant: "بازرگان",
    period: "ماوە",
    payout: "شێوازی پێدان",
    methods: {
      cash: "کاش",
      bank: "بانک",
      gateway_transfer: "گواستنەوە لە ڕێی خزمەتگوزاریی پارەدان",
    },
    reference: "سەرچاوەی پێدان",
    confirmed: "بازرگان وەریگرتووە",
    reason: "هۆکار",
    order: "داواکاری",
    own_reference: "سەرچاوەی خۆت",
    collected: "کاتی کۆکردنەوە",
    cod: "نرخی کاڵا",
    fee: "کرێی گەیاندن",
    other: "هیتر",
    amount: "بڕ",
    fees: "کرێی گەیاندنەکان",
    refunds: "پارەی گەڕێندراوە",
    adjustments: "ڕاستکردنەوەکان",
    net: "بۆ تۆ ماوە",
    total: "کۆی گشتی",
    rows: "ژمارەی بڕگە",
    kinds: {
      kept: "لە جزداندا دەمێنێتەوە",
      kept_before: "پێشتر لە جزداندا مابوو",
      opening: "باڵانس پێش یەکەم کەشف",
      cod: "نرخی کاڵا",
      delivery_fee: "کرێی گەیاندن",
      refund: "پارەی گەڕێندراوە",
      adjustment: "ڕاستکردنەوە",
    },
    verify: "بیخوێنەوە بۆ دڵنیابوون",
    page: (page, pages) => `لاپەڕەی ${page} لە ${pages}`,
  },
};
