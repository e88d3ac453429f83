// A working day of a Node program over Knex with its dialect for Firebird, over Objection's models on top of that, and over
// node-firebird-driver-native, which brings Firebird's own client library into Node.

'use strict';

const { Model } = require('objection');
const knexLibrary = require('knex');
const dialect = require('knex-firebird-dialect').default;
const native = require('node-firebird-driver-native');

const where = {
  host: process.env.FIREBIRD_HOST,
  port: Number(process.env.FIREBIRD_PORT),
  user: process.env.FIREBIRD_USER,
  password: process.env.FIREBIRD_PASSWORD,
  database: process.env.FIREBIRD_DATABASE,
};

function same(given, wanted) {
  const [left, right] = [given, wanted].map((value) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part)));
  if (left !== right) throw new Error(`${left} instead of ${right}`);
}

async function fails(part, work) {
  try {
    await work();
  } catch (error) {
    if (String(error.message).includes(part)) return;
    throw error;
  }
  throw new Error(`no error instead of one with ${part}`);
}

async function check(name, work) {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error.message ?? error).replace(/\s+/g, ' ')}`);
  }
}

async function builder(knex) {
  await check('knex tables are made', async () => {
    await knex.schema.createTable('customer', (table) => {
      table.increments('id').primary();
      table.string('name', 60).notNullable();
      table.string('city', 30);
      table.decimal('credit', 15, 2);
      table.timestamp('created');
      table.specificType('note', 'blob sub_type text');
    });
    await knex.schema.createTable('invoice', (table) => {
      table.integer('id').primary();
      table.integer('customer_id').notNullable().references('customer.id');
      table.decimal('total', 15, 2);
      table.date('issued');
    });
  });
  await check('knex what there is', async () => {
    same(await knex.schema.hasTable('customer'), true);
    same(await knex.schema.hasTable('nobody'), false);
    same(await knex.schema.hasColumn('customer', 'city'), true);
    same(await knex.schema.hasColumn('customer', 'street'), false);
  });
  await check('knex columns are added, renamed and dropped', async () => {
    await knex.schema.alterTable('customer', (table) => table.string('phone', 20));
    await knex.schema.alterTable('customer', (table) => table.renameColumn('phone', 'telephone'));
    same(await knex.schema.hasColumn('customer', 'telephone'), true);
    await knex.schema.alterTable('customer', (table) => table.dropColumn('telephone'));
    same(await knex.schema.hasColumn('customer', 'telephone'), false);
  });
  await check('knex an index', () => knex.schema.alterTable('customer', (table) => table.index(['name'], 'ix_customer_name')));
  await check('knex rows are written', async () => {
    await knex('customer').insert({ id: 1, name: 'Ada', city: 'London', credit: 100.5, created: new Date(2026, 0, 31, 13, 14, 15) });
    await knex('customer').insert({ id: 2, name: 'Grace', city: 'New York', credit: 20.25 });
    await knex('customer').insert({ id: 3, name: 'Ædith 😎', city: 'Köln', credit: 0 });
    await knex('customer').insert({ id: 4, name: 'Bob', city: null, credit: 70 });
    for (let at = 0; at < 40; at++) await knex('invoice').insert({ id: at, customer_id: 1 + (at % 3), total: at / 4, issued: new Date(2026, 0, 1 + (at % 28)) });
  });
  await check('knex INSERT returns', async () => {
    const rows = await knex('customer').insert({ id: 5, name: 'Eve' }).returning('id');
    same(JSON.stringify(rows).includes('5'), true);
  });
  await check('knex where', async () => {
    same(await knex('customer').where('credit', '>', 50).orderBy('id').pluck('id'), [1, 4]);
    same(await knex('customer').where({ name: 'Ædith 😎' }).pluck('city'), ['Köln']);
    same(await knex('customer').whereNull('city').orderBy('id').pluck('name'), ['Bob', 'Eve']);
    same(await knex('customer').whereIn('id', [1, 3, 9]).orderBy('id').pluck('id'), [1, 3]);
    same(await knex('customer').whereBetween('credit', [20, 80]).orderBy('id').pluck('id'), [2, 4]);
    same(await knex('customer').where('name', 'like', '%a%').orWhere((both) => both.where('id', 3).whereNotNull('city')).orderBy('id').pluck('id'), [1, 2, 3]);
    same(await knex('customer').whereExists(knex('invoice').select(knex.raw('1')).whereRaw('invoice.customer_id = customer.id')).orderBy('id').pluck('id'), [1, 2, 3]);
    same(await knex('customer').whereRaw('upper(city) = ?', ['LONDON']).pluck('id'), [1]);
  });
  await check('knex joins', async () => {
    same(await knex('customer').join('invoice', 'customer.id', 'invoice.customer_id').where('invoice.id', 7).select('customer.name as who', 'invoice.total as total'),
      [{ who: 'Grace', total: 1.75 }]);
    same((await knex('customer').leftJoin('invoice', 'customer.id', 'invoice.customer_id').whereNull('invoice.id').orderBy('customer.id').pluck('customer.id')), [4, 5]);
  });
  await check('knex groups', async () => {
    const rows = await knex('invoice').select('customer_id').count('* as many').sum('total as total').groupBy('customer_id').having('customer_id', '<', 3).orderBy('customer_id');
    same(rows.map((row) => [row.customer_id, Number(row.many), Number(row.total)]), [[1, 14, 68.25], [2, 13, 61.75]]);
  });
  await check('knex count, min, max, avg, sum', async () => {
    const row = await knex('invoice').first().count('* as many').min('id as least').max('id as most').sum('id as total');
    same([row.many, row.least, row.most, row.total].map(Number), [40, 0, 39, 780]);
  });
  await check('knex limit and offset', async () => same(await knex('invoice').select('id').orderBy('id').limit(3).offset(5), [{ id: 5 }, { id: 6 }, { id: 7 }]));
  await check('knex first', async () => same((await knex('customer').orderBy('id', 'desc').first('name')).name, 'Eve'));
  await check('knex distinct', async () => same((await knex('invoice').distinct('customer_id').orderBy('customer_id')).map((row) => row.customer_id), [1, 2, 3]));
  await check('knex union', async () => same((await knex('customer').select('id').where('id', 1).union(knex('customer').select('id').where('id', 2))).map((row) => row.id).sort(), [1, 2]));
  await check('knex with', async () => same((await knex.with('rich', knex('customer').select('id').where('credit', '>', 50)).select('id').from('rich').orderBy('id')).map((row) => row.id), [1, 4]));
  await check('knex update and delete', async () => {
    await knex('customer').where('id', 2).update({ city: 'Boston', note: 'grüße '.repeat(3000) });
    same(await knex('customer').where('id', 2).pluck('city'), ['Boston']);
    await knex('customer').where('id', 2).increment('credit', 5);
    same(Number((await knex('customer').where('id', 2).first('credit')).credit), 25.25);
    await knex('customer').where('id', 5).del();
    same(Number((await knex('customer').count('* as many').first()).many), 4);
  });
  await check('knex a BLOB of text', async () => {
    const { note } = await knex('customer').where('id', 2).first('note');
    same(Buffer.isBuffer(note) ? note.toString() : note, 'grüße '.repeat(3000));
  });
  await check('knex a date and a moment', async () => {
    const { created } = await knex('customer').where('id', 1).first('created');
    same(created.getTime(), new Date(2026, 0, 31, 13, 14, 15).getTime());
    const { issued } = await knex('invoice').where('id', 2).first('issued');
    same([issued.getFullYear(), issued.getMonth(), issued.getDate()], [2026, 0, 3]);
  });
  await check('knex raw statements', async () => same((await knex.raw('select name from customer where id = ?', [1]))[0].name.trim(), 'Ada'));
  await check('knex a violated constraint is told', () => fails('iolation of PRIMARY', () => knex('invoice').insert({ id: 1, customer_id: 1 })));
  await check('knex a missing table is told', () => fails('Table unknown', () => knex('nobody').select('*')));
}

async function models(knex) {
  class Invoice extends Model {
    static tableName = 'invoice';
  }
  class Customer extends Model {
    static tableName = 'customer';
    static relationMappings = {
      invoices: { relation: Model.HasManyRelation, modelClass: Invoice, join: { from: 'customer.id', to: 'invoice.customer_id' } },
    };
  }
  Customer.knex(knex);
  Invoice.knex(knex);
  await check('objection find', async () => same((await Customer.query().findById(1)).name, 'Ada'));
  await check('objection where and order', async () => same((await Customer.query().where('credit', '>', 20).orderBy('id')).map((found) => found.id), [1, 2, 4]));
  await check('objection relations', async () => {
    const customers = await Customer.query().whereIn('id', [1, 4]).orderBy('id').withGraphFetched('invoices');
    same(customers.map((found) => found.invoices.length), [14, 0]);
  });
  await check('objection patch and delete', async () => {
    await Customer.query().findById(4).patch({ city: 'Bonn' });
    same((await Customer.query().findById(4)).city, 'Bonn');
    await Customer.query().deleteById(4);
    same(await Customer.query().findById(4), undefined);
  });
  await check('objection a page', async () => same((await Invoice.query().orderBy('id').offset(10).limit(10)).map((found) => found.id), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]));
}

async function driver() {
  const client = native.createNativeClient(process.env.FIREBIRD_CLIENT_LIBRARY || native.getDefaultLibraryFilename());
  const uri = `${where.host}/${where.port}:${where.database}`;
  let attachment;
  await check('native attach', async () => {
    attachment = await client.connect(uri, { username: where.user, password: where.password });
  });
  if (!attachment) return;
  const inside = async (work) => {
    const transaction = await attachment.startTransaction();
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  };
  const rows = (sql, parameters) => inside(async (transaction) => {
    const set = await attachment.executeQuery(transaction, sql, parameters);
    const found = await set.fetch();
    await set.close();
    return found;
  });
  await check('native DDL', () => inside((transaction) => attachment.execute(transaction,
    'create table types (id integer not null primary key, b boolean, n numeric(18, 4), d double precision, t varchar(40), c char(5), on_day date, tm time, ts timestamp, tz timestamp with time zone, bl blob, big int128, df decfloat(34))')));
  await check('native every type there and back', async () => {
    const moment = new Date(2024, 1, 29, 13, 14, 15, 123);
    await inside((transaction) => attachment.execute(transaction, 'insert into types (id, b, n, d, t, c, ts, bl) values (?, ?, ?, ?, ?, ?, ?, ?)',
      [1, true, 1234.5678, 2.5e10, 'grüße', 'abc', moment, Buffer.from([0, 1, 255])]));
    const [row] = await rows('select id, b, n, d, t, c, ts from types where id = 1');
    same(row, [1, true, 1234.5678, 2.5e10, 'grüße', 'abc  ', moment]);
  });
  await check('native a BLOB is read', () => inside(async (transaction) => {
    const set = await attachment.executeQuery(transaction, 'select bl from types where id = 1');
    const [[blob]] = await set.fetch();
    const stream = await attachment.openBlob(transaction, blob);
    const buffer = Buffer.alloc(await stream.length);
    await stream.read(buffer);
    await stream.close();
    await set.close();
    same([...buffer], [0, 1, 255]);
  }));
  await check('native RETURNING', async () => same(await inside((transaction) => attachment.executeSingleton(transaction,
    'insert into types (id, t) values (2, ?) returning id, t', ['two'])), [2, 'two']));
  await check('native wide numbers as texts', async () => same(await rows("select cast(big as varchar(50)), cast(df as varchar(50)) from types where id = 2 union all select cast(cast('170141183460469231731687303715884105727' as int128) as varchar(50)), '1' from rdb$database"),
    [[null, null], ['170141183460469231731687303715884105727', '1']]));
  await check('native named columns', () => inside(async (transaction) => {
    const statement = await attachment.prepare(transaction, 'select id as number, t as "Text" from types where id = 2');
    const set = await statement.executeQuery(transaction);
    same(await set.fetchAsObject(), [{ NUMBER: 2, Text: 'two' }]);
    await set.close();
    await statement.dispose();
  }));
  await check('native 3000 rows by one statement', async () => {
    await inside(async (transaction) => {
      const statement = await attachment.prepare(transaction, 'insert into types (id, t) values (?, ?)');
      for (let at = 10; at < 3010; at++) await statement.execute(transaction, [at, `row ${at}`]);
      await statement.dispose();
    });
    same((await rows('select count(*), max(t) from types where id >= 10'))[0].map(String), ['3000', 'row 999']);
    same((await rows('select id from types')).length, 3002);
  });
  await check('native an error has its text', () => fails('PRIMARY or UNIQUE KEY', () => inside((transaction) => attachment.execute(transaction, 'insert into types (id) values (2)'))));
  await check('native events', async () => {
    let resolve;
    const heard = new Promise((done) => { resolve = done; });
    const events = await attachment.queueEvents(['shop'], async (counters) => resolve(counters));
    await inside((transaction) => attachment.execute(transaction, "execute block as begin post_event 'shop'; end"));
    const counters = await Promise.race([heard, new Promise((_, stop) => setTimeout(() => stop(new Error('not heard')), 5000).unref())]);
    same(counters, [['shop', 1]]);
    await events.cancel();
  });
  await check('native detach', () => attachment.disconnect());
  await client.dispose();
}

async function day() {
  const knex = knexLibrary({ client: dialect, connection: { ...where, lowercase_keys: true }, pool: { min: 1, max: 1 } });
  await builder(knex);
  await models(knex);
  await check('knex tables are dropped', async () => {
    await knex.schema.dropTable('invoice');
    await knex.schema.dropTable('customer');
    same(await knex.schema.hasTable('customer'), false);
  });
  await knex.destroy();
  await driver();
}

day().then(() => process.exit(0), (error) => {
  console.log(`FAIL the day: ${error.stack.replace(/\s+/g, ' ')}`);
  process.exit(1);
});
