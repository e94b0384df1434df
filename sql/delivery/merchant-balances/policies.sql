-- What is held, by wallet, table of its cash and rule of its release: who has the cash follows without looking at rows.
select app.counted('held_cash', 'money.wallet_holds', '{account_id,reference_type,release}', 'amount');
