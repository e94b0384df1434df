/** The words of a receipt, in the three languages. */
export type ReceiptLanguage = "en" | "ar" | "ku";

export interface ReceiptCaptions {
  title: string;
  methods: { remit: string; wallet: string };
  number: string;
  date: string;
  driver: string;
  receiver: string;
  reference: string;
  notes: string;
  counted: string;
  historical: string;
  reversed: (moment: string) => string;
  order: string;
  customer: string;
  collected: string;
  cod: string;
  fee: string;
  amount: string;
  orders: string;
  total: string;
  verify: string;
  page: (page: number, pages: number) => string;
}

export const receiptCaptions: Record<ReceiptLanguage, ReceiptCaptions> = {
  en: {
    title: "Cash settlement receipt",
    methods: { remit: "Cash remitted", wallet: "Settled from the driver's wallet" },
    number: "Settlement",
    date: "Date",
    driver: "Driver",
    receiver: "Received by",
    reference: "Reference",
    notes: "Notes",
    counted: "Counted / missing",
    historical: "Printed later for a settlement made before receipts were kept",
    reversed: (moment) => `REVERSED on ${moment}: this settlement no longer counts`,
    order: "Order",
    customer: "Customer",
    collected: "Collected",
    cod: "COD",
    fee: "Fee",
    amount: "Amount",
    orders: "Orders",
    total: "Total",
    verify: "Scan to verify",
    page: (page, pages) => `Page ${page} of ${pages}`,
  },
  ar: {
    title: "إيصال تسوية نقدية",
    methods: { remit: "تسليم نقدي", wallet: "تسوية من محفظة السائق" },
    number: "رقم التسوية",
    date: "التاريخ",
    driver: "السائق",
    receiver: "المستلم",
    reference: "المرجع",
    notes: "ملاحظات",
    counted: "المعدود / الناقص",
    historical: "طُبع لاحقاً لتسوية جرت قبل حفظ الإيصالات",
    reversed: (moment) => `أُلغيت هذه التسوية في ${moment} ولم تعد سارية`,
    order: "الطلب",
    customer: "الزبون",
    collected: "وقت التحصيل",
    cod: "ثمن الطلب",
    fee: "أجرة التوصيل",
    amount: "المبلغ",
    orders: "عدد الطلبات",
    total: "المجموع",
    verify: "امسح للتحقق",
    page: (page, pages) => `صفحة ${page} من ${pages}`,
  },
  ku: {
    title: "وەسڵی یەکلاکردنەوەی پارە",
    methods: { remit: "ڕادەستکردنی پارە", wallet: "یەکلاکردنەوە لە جزدانی شۆفێر" },
    number: "ژمارەی یەکلاکردنەوە",
    date: "بەروار",
    driver: "شۆفێر",
    receiver: "وەرگر",
    reference: "سەرچاوە",
    notes: "تێبینی",
    counted: "ژمێردراو / کەم",
    historical: "دواتر چاپ کراوە بۆ یەکلاکردنەوەیەک کە پێش هەڵگرتنی وەسڵ کراوە",
    reversed: (moment) => `ئەم یەکلاکردنەوەیە لە ${moment} هەڵوەشێنرایەوە و چیتر کاری پێ ناکرێت`,
    order: "داواکاری",
    customer: "کڕیار",
    collected: "کاتی کۆکردنەوە",
    cod: "نرخی کاڵا",
    fee: "کرێی گەیاندن",
    amount: "بڕ",
    orders: "ژمارەی داواکاری",
    total: "کۆی گشتی",
    verify: "بیخوێنەوە بۆ دڵنیابوون",
    page: (page, pages) => `لاپەڕەی ${page} لە ${pages}`,
  },
};
