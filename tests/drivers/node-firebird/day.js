// The working day of ../README.md with node-firebird: node day.js day|after-restart
'use strict';

// node-firebird maps DATE, TIME and TIMESTAMP to Date in local time; UTC has every local time exactly once.
process.env.TZ = 'UTC';

const fs = require('node:fs');
const Firebird = require('node-firebird');

const ROWS = 10_000;
const BLOB_SIZES = { '0 bytes': 0, '1 byte': 1, '60 KB': 60 * 1024, '70 KB': 70 * 1024, '5 MB': 5 * 1024 * 1024 };
const LONG_TEXT = 'Grüße aus Köln – 10 € 😀\n'.repeat(4000);
const SERVER_VERSION = Number(process.env.FIREBIRD_SERVER_VERSION || 5);
const OPTIONS = {
    host: process.env.FIREBIRD_HOST,
    port: Number(process.env.FIREBIRD_PORT),
    user: process.env.FIREBIRD_USER,
    password: process.env.FIREBIRD_PASSWORD,
    database: process.env.FIREBIRD_DATABASE,
    encoding: 'UTF8',
    numericMode: Firebird.NUMERIC_MODE_STRING,
    blobAsText: true,
    blobChunkSize: 65535,
    blobReadChunkSize: 65535,
};

// The driver's own read committed waits for writers of the rows that it reads (no_rec_version); this is
// isc_tpb_read_committed and isc_tpb_rec_version.
const READ_COMMITTED = [15, 17];
const SNAPSHOT = Firebird.ISOLATION_REPEATABLE_READ;

const octets = Buffer.from([0, 1, 0xfe, 0xff]);
const date = (text) => new Date(`${text}T00:00:00Z`);
const moment = (text) => new Date(`${text}Z`);
// Integers of 64 and 128 bits, and decimals stored in them, are strings in the driver's exact mode; narrower decimals
// are numbers. Moments have milliseconds.
const TYPES = {
    'SMALLINT': [-32768, 32767, 0],
    'INTEGER': [-2147483648, 2147483647, 0],
    'BIGINT': ['-9223372036854775808', '9223372036854775807', '0'],
    'INT128': [String(-(2n ** 127n)), String(2n ** 127n - 1n), '0'],
    'NUMERIC(4,2)': [-327.68, 327.67, 0.01],
    'NUMERIC(9,3)': [-2147483.648, 2147483.647, 0.001],
    'DECIMAL(4,2)': [-21474836.48, 21474836.47, 0.01],
    'NUMERIC(18,4)': ['-922337203685477.5808', '922337203685477.5807', '0.0001'],
    'NUMERIC(38,10)': [`-${'9'.repeat(28)}.${'9'.repeat(10)}`, `${'9'.repeat(28)}.${'9'.repeat(10)}`, '0.0000000001'],
    'FLOAT': [-3.4028232635611926e38, 3.4028232635611926e38, 1.1754943508222875e-38, 0.5],
    'DOUBLE PRECISION': [-Number.MAX_VALUE, Number.MAX_VALUE, 2.2250738585072014e-308, 0.1],
    'DECFLOAT(16)': ['-9.999999999999999E+384', '9.999999999999999E+384', '1E-383', '-0.1'],
    'DECFLOAT(34)': [`-9.${'9'.repeat(33)}E+6144`, `9.${'9'.repeat(33)}E+6144`, '1E-6143', '-0.1'],
    'BOOLEAN': [true, false],
    'DATE': [date('0001-01-01'), date('9999-12-31'), date('2000-02-29'), date('1858-11-17')],
    'TIME': [moment('1970-01-01T00:00:00'), moment('1970-01-01T23:59:59.999')],
    'TIMESTAMP': [moment('0001-01-01T00:00:00'), moment('9999-12-31T23:59:59.999'), moment('1969-12-31T01:02:03.004')],
    'TIME WITH TIME ZONE': ['12:34:56.7890 +02:00', '00:00:00.0000 -03:30'],
    'TIMESTAMP WITH TIME ZONE': ['2024-06-30 12:34:56.7890 +05:30', '1999-12-31 23:59:59.9990 -08:00'],
    'CHAR(10) CHARACTER SET UTF8': ['', 'äöü €', '😀中文'],
    'CHAR(10) CHARACTER SET WIN1252': ['', 'äöü €'],
    'CHAR(10) CHARACTER SET ISO8859_1': ['', 'äöüß ÀÉ'],
    'CHAR(10) CHARACTER SET ASCII': ['', 'plain ~'],
    'CHAR(10) CHARACTER SET NONE': ['', 'plain ~'],
    'CHAR(4) CHARACTER SET OCTETS': [octets, Buffer.from('abcd')],
    'VARCHAR(20) CHARACTER SET UTF8': ['', 'äöü € ', '😀'.repeat(20)],
    'VARCHAR(20) CHARACTER SET WIN1252': ['', 'äöü € '],
    'VARCHAR(20) CHARACTER SET ISO8859_1': ['', 'äöüß ÀÉ '],
    'VARCHAR(20) CHARACTER SET ASCII': ['', 'plain ~ '],
    'VARCHAR(20) CHARACTER SET NONE': ['', 'plain ~ '],
    'VARCHAR(20) CHARACTER SET OCTETS': [Buffer.alloc(0), octets],
    'BLOB SUB_TYPE TEXT CHARACTER SET UTF8': ['', 'äöü € 😀'],
    'BLOB SUB_TYPE TEXT CHARACTER SET WIN1252': ['', 'äöü €'],
    'BLOB SUB_TYPE BINARY': [Buffer.alloc(0), octets],
};
const SINCE_FIREBIRD_4 = new Set([
    'INT128', 'NUMERIC(38,10)', 'DECFLOAT(16)', 'DECFLOAT(34)', 'TIME WITH TIME ZONE', 'TIMESTAMP WITH TIME ZONE',
]);
// The driver keeps no zone and sends a wrong descriptor for DECFLOAT: these are bound and read as text.
const AS_TEXT = new Set(['DECFLOAT(16)', 'DECFLOAT(34)', 'TIME WITH TIME ZONE', 'TIMESTAMP WITH TIME ZONE']);
// The driver cannot bind NULL to these.
const NO_NULL_PARAMETER = new Set(['INT128', 'NUMERIC(38,10)', 'DECFLOAT(16)', 'DECFLOAT(34)']);

/** What to bind for a value: the driver sends whole numbers as integers, whatever their size. */
const bound = (value) => (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? String(value) : value);

const UNKNOWN_TABLE = [335544569, 'Table unknown'];
const UPDATE_CONFLICT = [335544336, 'update conflicts with concurrent update'];
// check: statement, parameters, the first gds code of the status vector (the driver tells no more of them), part of the text
const ERRORS = {
    'syntax': ['SELEKT 1 FROM RDB$DATABASE', [], [335544569, 'Token unknown']],
    'unknown table': ['SELECT * FROM NO_SUCH_TABLE', [], UNKNOWN_TABLE],
    'unknown column': ['SELECT NO_SUCH_COLUMN FROM CUSTOMER', [], [335544569, 'NO_SUCH_COLUMN']],
    'unique': ['INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)', ['Second Ada', 'ada@example.com'], [335544665, 'UQ_CUSTOMER_EMAIL']],
    'foreign key': ['INSERT INTO INVOICE (ID, CUSTOMER_ID) VALUES (?, ?)', [900, 12345], [335544466, 'FK_INVOICE_CUSTOMER']],
    'not null': ['INSERT INTO CUSTOMER (NAME) VALUES (?)', [null], [335544347, 'NAME']],
    'check': ['INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY) VALUES (?, ?, ?)', [901, 1, 0], [335544558, 'CK_INVOICE_QUANTITY']],
    'conversion': ["SELECT CAST('twelve' AS INTEGER) FROM RDB$DATABASE", [], [335544334, 'twelve']],
    'overflow': ['SELECT CAST(70000 AS SMALLINT) FROM RDB$DATABASE', [], [335544321, 'out of range']],
    'division by zero': ['SELECT 1 / 0 FROM RDB$DATABASE', [], [335544321, 'Integer divide by zero']],
    'truncation': ["UPDATE INVOICE SET NOTE = 'eleven char' WHERE ID = 1", [], [335544321, 'string right truncation']],
};

// Reporting

class Skip extends Error {}

/** Runs one check, reports it, and goes on with a fresh attachment if it failed. */
async function check(name, body) {
    try {
        await body();
        console.log(`ok ${name}`);
    } catch (error) {
        if (error instanceof Skip) {
            console.log(`skip ${name}: ${error.message}`);
            return;
        }
        const line = /day\.js:(\d+)/.exec(error.stack || '');
        console.log(`FAIL ${name}: ${String(error.message).split(/\s+/).join(' ')} (day.js:${line ? line[1] : '?'})`);
        await recover();
    }
}

async function recover() {
    await db?.detachAsync(true).catch(() => {});
    transaction = undefined;
    db = await connect().catch(() => process.exit(1));
}

const same = (a, b) => (a instanceof Date && b instanceof Date ? a.getTime() === b.getTime()
    : Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : a === b);

function expect(found, wanted) {
    const both = Array.isArray(found) && Array.isArray(wanted);
    if (both ? JSON.stringify(found) !== JSON.stringify(wanted) : !same(found, wanted)) {
        throw new Error(`expected ${shown(wanted)}, got ${shown(found)}`);
    }
}

const shown = (value) => String(JSON.stringify(value)).slice(0, 200);

/** Runs a body that must fail with this gds code and this text in the message. */
async function expectError(body, [code, text]) {
    let error;
    await body().catch((e) => { error = e; });
    if (!error) {
        throw new Error(`no error, expected gds code ${code}`);
    }
    if (error.gdscode !== code || !error.message.toLowerCase().includes(text.toLowerCase())) {
        throw new Error(`expected gds code ${code} and "${text}", got ${error.gdscode}: ${error.message}`);
    }
}

// Talking to the server

/** The attachment that most checks use, and its current transaction. */
let db;
let transaction;

function attach(how, changes) {
    return new Promise((resolve, reject) => {
        Firebird[how]({ ...OPTIONS, ...changes }, (error, made) => (error ? reject(error) : resolve(made)));
    });
}

const connect = (changes) => attach('attach', changes);

async function current() {
    transaction ??= await db.transactionAsync(READ_COMMITTED);
    return transaction;
}

async function commit() {
    await transaction?.commitAsync();
    transaction = undefined;
}

async function rollback() {
    await transaction?.rollbackAsync();
    transaction = undefined;
}

/** Rows as arrays; with binary BLOBs read. */
async function query(sql, parameters = []) {
    const rows = await (await current()).executeAsync(sql, parameters);
    return rowsOf(rows);
}

async function rowsOf(rows) {
    const list = rows === undefined ? [] : Array.isArray(rows[0]) || rows.length === 0 ? rows : [rows];
    for (const row of list) {
        for (let i = 0; i < row.length; i++) {
            if (typeof row[i] === 'function') {
                row[i] = await readBlob(row[i]);
            }
        }
    }
    return list;
}

function readBlob(open) {
    return new Promise((resolve, reject) => {
        open((error, name, stream) => {
            if (error) {
                reject(error);
                return;
            }
            const chunks = [];
            stream.on('data', (chunk) => chunks.push(chunk));
            stream.on('error', reject);
            stream.on('end', () => resolve(Buffer.concat(chunks)));
        });
    });
}

const scalar = async (sql, parameters) => (await query(sql, parameters))[0][0];

/** How many rows a statement changed. */
async function affected(sql, parameters) {
    return (await (await current()).executeAsync(sql, parameters, { withMeta: true })).affectedRows;
}

/** The statements of an SQL file, without comments. */
function statements(path) {
    const lines = fs.readFileSync(path, 'utf8').split('\n').filter((line) => !line.startsWith('--'));
    return lines.join('\n').split(';\n').map((text) => text.trim()).filter(Boolean);
}

// The day

async function day() {
    await connecting();
    await ddl();
    let number = 0;
    for (const [declaration, values] of Object.entries(TYPES)) {
        const table = `T_${number++}`;
        await check(`type: ${declaration}`, () => oneType(table, declaration, values));
    }
    await parameters();
    await rows();
    await blobs();
    await errors();
    await transactions();
}

async function connecting() {
    await check('connect: wrong password', async () => {
        if (SERVER_VERSION === 4) {
            throw new Skip('the driver waits for ever when the server goes on to its next plugin, as Firebird 4 does');
        }
        await expectError(() => connect({ password: 'not the password' }), [335544472, 'user name and password']);
    });
    await check('connect: create database', async () => {
        db = await attach('create');
        expect(await scalar('SELECT 1 FROM RDB$DATABASE'), 1);
        await commit();
        await db.detachAsync();
    });
    await check('connect: missing database', () => expectError(() => connect({ database: `${OPTIONS.database}.none` }), [335544344, 'I/O error']));
    await check('connect: right password', async () => {
        db = await connect();
        expect((await scalar('SELECT CURRENT_USER FROM RDB$DATABASE')).trim(), OPTIONS.user.toUpperCase());
    });
}

async function ddl() {
    await check('ddl: schema', async () => {
        for (const statement of statements(process.env.FIREBIRD_SCHEMA)) {
            await query(statement);
        }
        await commit();
        const names = await query('SELECT TRIM(RDB$RELATION_NAME) FROM RDB$RELATIONS WHERE RDB$SYSTEM_FLAG = 0 ORDER BY RDB$RELATION_NAME');
        expect(names.flat(), ['ACCOUNT', 'BLOBS', 'CUSTOMER', 'INVOICE', 'INVOICE_OF_CUSTOMER', 'MANY']);
    });
    await check('ddl: rolled back', async () => {
        await query('CREATE TABLE NEVER (ID INTEGER)');
        await rollback();
        await expectError(() => query('SELECT * FROM NEVER'), UNKNOWN_TABLE);
        await rollback();
    });
}

/** Writes NULL and the values into a column of the type and reads them back. */
async function oneType(table, declaration, values) {
    if (SINCE_FIREBIRD_4.has(declaration) && SERVER_VERSION < 4) {
        throw new Skip('needs Firebird 4');
    }
    await query(`CREATE TABLE ${table} (ID INTEGER NOT NULL PRIMARY KEY, V ${declaration})`);
    await commit();
    const marker = AS_TEXT.has(declaration) ? `CAST(CAST(? AS VARCHAR(60)) AS ${declaration})` : '?';
    await query(`INSERT INTO ${table} (ID, V) VALUES (0, ${NO_NULL_PARAMETER.has(declaration) ? 'NULL' : '?'})`,
        NO_NULL_PARAMETER.has(declaration) ? [] : [null]);
    for (const [row, value] of values.entries()) {
        await query(`INSERT INTO ${table} (ID, V) VALUES (?, ${marker})`, [row + 1, bound(value)]);
    }
    await commit();
    await sameValues(table, declaration, values);
    expect(await scalar(`SELECT COUNT(*) FROM ${table} WHERE V IS NULL`), '1');
    await commit();
}

async function sameValues(table, declaration, values) {
    const column = AS_TEXT.has(declaration) ? 'CAST(V AS VARCHAR(60))' : 'V';
    const found = await query(`SELECT ${column} FROM ${table} ORDER BY ID`);
    expect(found.length, values.length + 1);
    for (const [row, wanted] of [null, ...values].entries()) {
        const value = found[row][0];
        expect(declaration.startsWith('CHAR(') && typeof value === 'string' ? value.trimEnd() : value, wanted);
    }
}

async function parameters() {
    await check('parameters: all kinds at once', async () => {
        const row = [7, 'Grüße €', '12.3456', moment('2024-02-29T13:14:15.161'), date('2024-02-29'), true, null];
        const got = await query(
            'SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20) CHARACTER SET UTF8), CAST(? AS NUMERIC(18,4)),' +
            ' CAST(? AS TIMESTAMP), CAST(? AS DATE), CAST(? AS BOOLEAN), CAST(? AS INTEGER) FROM RDB$DATABASE', row);
        expect(got, [row]);
    });
    await check('parameters: where', async () => {
        await query('INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)', ['Ada', 'ada@example.com']);
        await query('INSERT INTO CUSTOMER (NAME, EMAIL, CREDIT) VALUES (?, ?, ?)', ['Bob', null, '12.5']);
        await commit();
        expect(await query('SELECT ID, NAME, CREDIT FROM CUSTOMER WHERE NAME = ? AND CREDIT > ?', ['Bob', '12.4']), [[2, 'Bob', '12.5000']]);
        expect(await query('SELECT NAME FROM CUSTOMER WHERE EMAIL STARTING WITH ?', ['ada@']), [['Ada']]);
    });
    await check('parameters: returning', async () => {
        const sql = 'INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY, PRICE) VALUES (NEXT VALUE FOR SEQ_INVOICE, ?, ?, ?) RETURNING ID, TOTAL';
        expect(await query(sql, [1, 3, 1.25]), [[1, '3.75']]);
        await commit();
        expect(await query('SELECT CUSTOMER, INVOICE, TOTAL FROM INVOICE_OF_CUSTOMER'), [['Ada', 1, '3.75']]);
    });
    await check('parameters: executed again', async () => {
        const statement = await db.newStatementAsync('SELECT CAST(? AS INTEGER) + 1 FROM RDB$DATABASE');
        const within = await current();
        for (let i = 0; i < 50; i++) {
            await statement.executeAsync(within, [i]);
            expect(String((await statement.fetchAllAsync(within))[0].flat?.()[0] ?? ''), String(i + 1));
            await statement.closeAsync();
        }
        await statement.dropAsync();
        await commit();
    });
}

const label = (i) => `row ${i} ä€`;
const second = (i) => new Date(Date.UTC(2024, 0, 1, 0, 0, i));

async function rows() {
    const insert = 'INSERT INTO MANY (ID, LABEL, AMOUNT, MOMENT) VALUES (?, ?, ?, ?)';
    const many = Array.from({ length: ROWS }, (_, i) => [i, label(i), (i / 10000).toFixed(4), second(i)]);
    await check('rows: 10000 inserted', async () => {
        if (SERVER_VERSION >= 4) {
            expect((await (await current()).executeBatchAsync(insert, many)).success, true);
        } else {
            const statement = await db.newStatementAsync(insert);
            for (const row of many) {
                await statement.executeAsync(await current(), row);
            }
            await statement.dropAsync();
        }
        await commit();
        expect(await scalar('SELECT COUNT(*) FROM MANY'), String(ROWS));
    });
    await check('rows: 10000 fetched', async () => {
        expect(await query('SELECT ID, LABEL, AMOUNT, MOMENT FROM MANY ORDER BY ID'), many);
        expect(await query('SELECT SUM(ID), MIN(LABEL), MAX(AMOUNT) FROM MANY'), [['49995000', label(0), '0.9999']]);
    });
    await check('rows: two cursors at once', async () => {
        const within = await current();
        const up = await db.newStatementAsync('SELECT ID FROM MANY ORDER BY ID');
        const down = await db.newStatementAsync('SELECT ID FROM MANY ORDER BY ID DESC');
        await up.executeAsync(within, []);
        await down.executeAsync(within, []);
        for (let i = 0; i < ROWS; i += 1000) {
            const [first, last] = [await up.fetchAsync(within, 1000), await down.fetchAsync(within, 1000)];
            expect([first.data.length, first.data[0].flat()[0], last.data[999].flat()[0]], [1000, i, ROWS - 1000 - i]);
        }
        await up.dropAsync();
        await down.dropAsync();
        await commit();
    });
    await check('rows: affected', async () => {
        expect(await affected('UPDATE MANY SET AMOUNT = AMOUNT + 1 WHERE ID < ?', [1000]), 1000);
        expect(await affected('DELETE FROM MANY WHERE ID >= ?', [ROWS - 10]), 10);
        expect(await scalar('SELECT COUNT(*) FROM MANY WHERE AMOUNT >= 1'), '1000');
        await rollback();
        expect(await scalar('SELECT COUNT(*) FROM MANY WHERE AMOUNT < 1'), String(ROWS));
    });
}

/** Bytes that do not repeat with any power of two, and in which every value occurs. */
function content(size) {
    const bytes = Buffer.alloc(size);
    for (let i = 0; i < size; i++) {
        const j = i % (251 * 256);
        bytes[i] = (j * 7 + Math.floor(j / 251)) & 0xff;
    }
    return bytes;
}

async function blobs() {
    for (const [row, [name, size]] of Object.entries(BLOB_SIZES).entries()) {
        await check(`blob: ${name}`, async () => {
            await query('INSERT INTO BLOBS (ID, BYTES) VALUES (?, ?)', [row, content(size)]);
            await commit();
            await sameBlob(row, size);
        });
    }
    await check('blob: text', async () => {
        await query('INSERT INTO BLOBS (ID, TEXT) VALUES (10, ?)', [LONG_TEXT]);
        await commit();
        expect(await scalar('SELECT TEXT FROM BLOBS WHERE ID = 10') === LONG_TEXT, true);
        expect(Number(await scalar('SELECT CHAR_LENGTH(TEXT) FROM BLOBS WHERE ID = 10')), [...LONG_TEXT].length);
        await commit();
    });
}

async function sameBlob(row, size) {
    const found = await scalar('SELECT BYTES FROM BLOBS WHERE ID = ?', [row]);
    expect(found.length, size);
    expect(found.equals(content(size)), true);
    expect(Number(await scalar('SELECT OCTET_LENGTH(BYTES) FROM BLOBS WHERE ID = ?', [row])), size);
    await commit();
}

async function errors() {
    for (const [name, [sql, values, failure]] of Object.entries(ERRORS)) {
        await check(`error: ${name}`, async () => {
            await expectError(() => query(sql, values), failure);
            await rollback();
            expect(await scalar('SELECT 1 FROM RDB$DATABASE'), 1);
        });
    }
}

async function transactions() {
    const balance = 'SELECT BALANCE FROM ACCOUNT WHERE ID = 1';
    const add = 'UPDATE ACCOUNT SET BALANCE = BALANCE + ? WHERE ID = 1';
    let other;
    const balanceIn = async (where) => (await rowsOf(await where.executeAsync(balance)))[0][0];

    await check('transaction: rollback', async () => {
        await query('INSERT INTO ACCOUNT (ID, BALANCE) VALUES (1, 100)');
        await commit();
        await query(add, [1]);
        expect(await scalar(balance), 101);
        await rollback();
        expect(await scalar(balance), 100);
        await commit();
    });
    await check('transaction: isolation', async () => {
        other = await connect();
        const snapshot = await other.transactionAsync(SNAPSHOT);
        const reader = await other.transactionAsync(READ_COMMITTED);
        expect(await balanceIn(snapshot), 100);
        await query(add, [10]);
        expect(await balanceIn(reader), 100);
        await commit();
        expect(await balanceIn(reader), 110);
        expect(await balanceIn(snapshot), 100);
        await reader.rollbackAsync();
        await snapshot.rollbackAsync();
    });
    await check('transaction: no wait conflict', async () => {
        await query(add, [1]);
        const impatient = await other.transactionAsync({ isolation: READ_COMMITTED, wait: false });
        await expectError(() => impatient.executeAsync(add, [2]), UPDATE_CONFLICT);
        await impatient.rollbackAsync();
        await rollback();
    });
    await check('transaction: snapshot conflict', async () => {
        const late = await other.transactionAsync(SNAPSHOT);
        expect(await balanceIn(late), 110);
        await query(add, [5]);
        await commit();
        await expectError(() => late.executeAsync(add, [7]), UPDATE_CONFLICT);
        await late.rollbackAsync();
        expect(await scalar(balance), 115);
        await commit();
    });
    await check('transaction: savepoint', async () => {
        await query(add, [1]);
        await (await current()).savepoint(async (within) => {
            await within.executeAsync(add, [1000]);
            throw new Error('undo this');
        }).catch((error) => expect(error.message, 'undo this'));
        expect(await scalar(balance), 116);
        await commit();
        expect(await scalar(balance), 116);
        await commit();
    });
    await check('transaction: failed statement undone alone', async () => {
        await query('INSERT INTO ACCOUNT (ID, BALANCE) VALUES (2, 0)');
        await expectError(() => query('INSERT INTO ACCOUNT (ID, BALANCE) SELECT 4 - ID, 0 FROM ACCOUNT ORDER BY ID'), [335544665, 'ACCOUNT']);
        expect(await query('SELECT ID FROM ACCOUNT ORDER BY ID'), [[1], [2]]);
        await commit();
        expect(await scalar('SELECT COUNT(*) FROM ACCOUNT'), '2');
        await commit();
    });
    await check('transaction: two in one attachment', async () => {
        const first = await db.transactionAsync(READ_COMMITTED);
        const next = await db.transactionAsync(READ_COMMITTED);
        await first.executeAsync('INSERT INTO ACCOUNT (ID, BALANCE) VALUES (5, 5)');
        await next.executeAsync('INSERT INTO ACCOUNT (ID, BALANCE) SELECT 6, COUNT(*) FROM ACCOUNT WHERE ID = 5');
        await first.rollbackAsync();
        await next.commitAsync();
        expect(await query('SELECT ID, BALANCE FROM ACCOUNT ORDER BY ID'), [[1, 116], [2, 0], [6, 0]]);
        await commit();
    });
    await check('service: server version', async () => {
        const service = await attach('attach', { manager: true });
        const { fbversion } = await service.getFbserverInfosAsync({ fbversion: true });
        expect(/\d+\.\d+/.test(fbversion), true);
        await new Promise((resolve) => service.detach(resolve));
    });
    await check('users: created, logged in, dropped', users);
    await check('transaction: left open', async () => {
        await query('INSERT INTO ACCOUNT (ID, BALANCE) VALUES (99, 99)');
        expect(await scalar('SELECT BALANCE FROM ACCOUNT WHERE ID = 99'), 99);
        // The process ends with this transaction open.
    });
}

async function users() {
    const name = process.env.FIREBIRD_GUEST || `EVE_${process.pid}`;
    const listed = async () => (await query('SELECT COUNT(*) FROM SEC$USERS WHERE SEC$USER_NAME = ?', [name]))[0][0];
    await query(`CREATE USER ${name} PASSWORD 'first secret'`);
    await commit();
    expect(await listed(), '1');
    const guest = await connect({ user: name.toLowerCase(), password: 'first secret' });
    const who = await guest.executeAsync('SELECT CURRENT_USER FROM RDB$DATABASE');
    expect(who[0][0].trim(), name);
    await guest.detachAsync();
    await query(`DROP USER ${name}`);
    await commit();
    expect(await listed(), '0');
    await commit();
    if (SERVER_VERSION !== 4) {
        // See "connect: wrong password".
        await expectError(() => connect({ user: name, password: 'first secret' }), [335544472, 'user name and password']);
    }
}

async function afterRestart() {
    await check('restart: reconnect', async () => {
        db = await connect();
        expect(await scalar('SELECT 1 FROM RDB$DATABASE'), 1);
    });
    await check('restart: rows', async () => {
        expect(await query('SELECT COUNT(*), SUM(ID), MAX(LABEL) FROM MANY'), [[String(ROWS), '49995000', label(ROWS - 1)]]);
        expect(await query('SELECT NAME, EMAIL, CREDIT FROM CUSTOMER ORDER BY ID'),
            [['Ada', 'ada@example.com', '0.0000'], ['Bob', null, '12.5000']]);
        expect(await query('SELECT ID, BALANCE FROM ACCOUNT WHERE ID < 99 ORDER BY ID'), [[1, 116], [2, 0], [6, 0]]);
    });
    await check('restart: types', async () => {
        let number = 0;
        for (const [declaration, values] of Object.entries(TYPES)) {
            const table = `T_${number++}`;
            if (SERVER_VERSION >= 4 || !SINCE_FIREBIRD_4.has(declaration)) {
                await sameValues(table, declaration, values);
            }
        }
    });
    await check('restart: blobs', async () => {
        for (const [row, size] of Object.values(BLOB_SIZES).entries()) {
            await sameBlob(row, size);
        }
        expect(await scalar('SELECT TEXT FROM BLOBS WHERE ID = 10') === LONG_TEXT, true);
    });
    await check('restart: constraints', async () => {
        for (const name of ['unique', 'foreign key', 'not null', 'check']) {
            const [sql, values, failure] = ERRORS[name];
            await expectError(() => query(sql, values), failure);
        }
        await rollback();
    });
    await check('restart: sequence', async () => {
        expect(await scalar('SELECT NEXT VALUE FOR SEQ_INVOICE FROM RDB$DATABASE'), '2');
        expect(await scalar("INSERT INTO CUSTOMER (NAME) VALUES ('Eve') RETURNING ID") > 2, true);
        await commit();
    });
    await check('restart: left open is gone', async () => {
        expect(await scalar('SELECT COUNT(*) FROM ACCOUNT WHERE ID = 99'), '0');
        await commit();
        await db.detachAsync();
    });
}

// Not a clean end: open attachments are to be cut, as a crashed program would cut them.
(process.argv[2] === 'day' ? day() : afterRestart()).then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});
