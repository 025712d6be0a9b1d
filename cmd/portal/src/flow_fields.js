// The fields of the box where one is: what a task runs and wants, whom it waits for, what it reads and writes; the name and size of a file.
import { useState } from 'preact/hooks';
import { addFile, boxOf, change, connect, disconnect, isFile, remove, titleOf, writersOf } from './flow_doc.js';
import { when } from './flow_wfformat.js';
import { html } from './html.js';
import { readSize, readTime, writeSize, writeTime } from './quantity.js';

// What is typed counts when the field is left. read(text): the value, or undefined, which is told by `wrong` and not taken.
function Field({ label, value, read = (t) => t, wrong, commit, lines, name, ...more }) {
	// by an effect, which runs later, the first key that is typed into a new field would be lost
	const [kept, setKept] = useState(null);
	const { text, bad } = kept?.of === value ? kept : { text: value, bad: false };
	const leave = (e) => {
		const got = read(e.target.value);
		setKept({ of: value, text: e.target.value, bad: got === undefined });
		if (got !== undefined && e.target.value !== value)
			commit(got);
	};
	const shared = { value: text, onInput: (e) => setKept({ of: value, text: e.target.value, bad }), onChange: leave, 'aria-invalid': bad ? 'true' : undefined, autocomplete: 'off', spellcheck: false, name, ...more };
	return html`<label>${label}${lines ? html`<textarea rows=${lines} ...${shared}></textarea>` : html`<input ...${shared} />`}
		${bad && html`<span class="bad" role="alert">${wrong}</span>`}</label>`;
}

const whole = (max, min = 0) => (text) => (/^\d{1,9}$/.test(text.trim()) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined);

// A word a line; what is no plain sign within one is written with a backslash.
const escape = (word) => word.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/\t/g, '\\t');
const unescape = (line) => line.replace(/\\(.)/g, (_, c) => ({ n: '\n', r: '\r', t: '\t' }[c] ?? c));
export const wordsOf = (text) => (text ? text.replace(/\n$/, '').split('\n').map(unescape) : []);
export const textOfWords = (words) => words.map(escape).join('\n');

const envOf = (text) => {
	const list = text.split('\n').filter((l) => l.trim());
	return list.every((l) => /^[A-Za-z_][A-Za-z0-9_]*=/.test(l)) ? list.map(unescape) : undefined;
};

function Links({ title, list, doc, onRemove, children }) {
	return html`<fieldset><legend>${title}</legend>${list.length > 0 && html`<ul class="links">${list.map((key) => html`<li key=${key}>${titleOf(boxOf(doc, key))}
		<button type="button" aria-label=${`Remove ${titleOf(boxOf(doc, key))} from ${title}`} onClick=${() => onRemove(key)}>×</button></li>`)}</ul>`}${children}</fieldset>`;
}

// By its name; one that is not there yet is drawn beside the task.
function AddFile({ label, doc, task, list, act }) {
	const [name, setName] = useState('');
	const add = () => {
		if (!name.trim())
			return;
		act((d) => {
			const there = d.files.find((f) => f.name === name.trim());
			const [next, key] = there ? [d, there.key] : addFile(d, { x: task.x + 160, y: task.y + (list === 'inputs' ? -80 : 80) }, name.trim());
			return list === 'inputs' ? connect(next, key, task.key) : connect(next, task.key, key);
		});
		setName('');
	};
	return html`<span class="add"><label>${label} <input list="flow-files" value=${name} onInput=${(e) => setName(e.target.value)} onKeyDown=${(e) => e.key === 'Enter' && (e.preventDefault(), add())} /></label>
		<button type="button" onClick=${add}>Add</button></span>`;
}

function AddParent({ doc, task, act }) {
	const others = doc.tasks.filter((t) => t.key !== task.key && !task.parents.includes(t.key));
	return others.length > 0 && html`<label>Wait for <select value="" onChange=${(e) => e.target.value && act((d) => connect(d, e.target.value, task.key))}>
		<option value="">choose …</option>${others.map((t) => html`<option key=${t.key} value=${t.key}>${t.id}</option>`)}</select></label>`;
}

const nameOf = (list, key, word) => (text) => (text.trim() && !list.some((b) => b.key !== key && titleOf(b) === text.trim()) ? text.trim() : undefined);

function TaskFields({ doc, task, act }) {
	const set = (name) => (value) => act((d) => change(d, task.key, { [name]: value }));
	const size = 'A size is wanted, like 2 GiB.', time = 'A time is wanted, like 90 s or 10 m.';
	return html`<${Field} label="Id" name="id" value=${task.id} read=${nameOf(doc.tasks, task.key)} wrong="A name is wanted that no other task has." commit=${set('id')} maxlength="255" />
		<${Field} label="Kind (of several that do the same)" name="name" value=${task.name} commit=${set('name')} maxlength="255" />
		<${Field} label="Command: the program, then a word a line (\\n is a new line within one)" name="command" lines="4" value=${textOfWords(task.command)} read=${wordsOf} commit=${set('command')} />
		<div class="fields"><${Field} label="Nodes" name="nodes" value=${String(task.nodes)} read=${whole(1_000_000, 1)} wrong="A number from 1 on is wanted." commit=${set('nodes')} inputmode="numeric" />
			<${Field} label="Cores (0: all)" name="cores" value=${String(task.cores)} read=${whole(65536)} wrong="A number is wanted." commit=${set('cores')} inputmode="numeric" />
			<${Field} label="Memory" name="memory" value=${writeSize(task.memory_bytes)} read=${readSize} wrong=${size} commit=${set('memory_bytes')} placeholder="2 GiB" />
			<${Field} label="Time at most" name="time" value=${writeTime(task.time_ms)} read=${readTime} wrong=${time} commit=${set('time_ms')} placeholder="10 m" />
			<${Field} label="Time expected" name="run" value=${task.run_ms < 0 ? '' : task.run_ms ? writeTime(task.run_ms) : '0'} read=${(t) => (t.trim() ? readTime(t) : -1)} wrong=${time} commit=${set('run_ms')} />
			<${Field} label="Retries" name="retries" value=${String(task.retries)} read=${whole(1000)} wrong="A number up to 1000 is wanted." commit=${set('retries')} inputmode="numeric" />
			<label>When it has failed <select name="when_failed" value=${task.when_failed} onChange=${(e) => set('when_failed')(e.target.value)}>
				${when.map((w) => html`<option key=${w} value=${w}>${{ stop: 'stop: no more begin', go_on: 'go on with the others', hold: 'hold until I have looked' }[w]}</option>`)}</select></label></div>
		<datalist id="flow-files">${doc.files.map((f) => html`<option key=${f.key} value=${f.name}></option>`)}</datalist>
		<${Links} title="Reads" list=${task.inputs} doc=${doc} onRemove=${(k) => act((d) => disconnect(d, k, task.key))}><${AddFile} label="File to read" list="inputs" ...${{ doc, task, act }} /><//>
		<${Links} title="Writes" list=${task.outputs} doc=${doc} onRemove=${(k) => act((d) => disconnect(d, task.key, k))}><${AddFile} label="File to write" list="outputs" ...${{ doc, task, act }} /><//>
		<${Links} title="Waits also for" list=${task.parents} doc=${doc} onRemove=${(k) => act((d) => disconnect(d, k, task.key))}><${AddParent} ...${{ doc, task, act }} /><//>
		<${Field} label="Environment: NAME=VALUE, one a line" name="environment" lines="2" value=${textOfWords(task.environment)} read=${envOf} wrong="Each line must be NAME=VALUE." commit=${set('environment')} />`;
}

function FileFields({ doc, file, act }) {
	const set = (name) => (value) => act((d) => change(d, file.key, { [name]: value }));
	const writers = writersOf(doc.tasks).get(file.key) ?? [], readers = doc.tasks.filter((t) => t.inputs.includes(file.key));
	return html`<${Field} label="Name: its path below the data directory" name="file" value=${file.name} read=${nameOf(doc.files, file.key)} wrong="A name is wanted that no other file has." commit=${set('name')} maxlength="255" />
		<${Field} label="Size, about" name="size" value=${writeSize(file.size_bytes)} read=${readSize} wrong="A size is wanted, like 2 GiB." commit=${set('size_bytes')} />
		<dl><div><dt>Written by</dt><dd>${writers.map((t) => t.id).join(', ') || 'nobody: it is there before'}</dd></div><div><dt>Read by</dt><dd>${readers.map((t) => t.id).join(', ') || 'nobody'}</dd></div></dl>`;
}

export function Fields({ doc, active, act, findings, onRemoved }) {
	const box = boxOf(doc, active), file = isFile(doc, active);
	if (!box)
		return html`<aside class="node" aria-label="Fields"><p class="quiet">A box that is chosen has its fields here.</p></aside>`;
	const kind = file ? 'File' : 'Task';
	return html`<aside class="node" aria-label=${`${kind} ${titleOf(box)}`}><form onSubmit=${(e) => e.preventDefault()}><div class="bar"><h2>${kind} ${titleOf(box)}</h2>
			<button type="button" onClick=${() => { act((d) => remove(d, active)); onRemoved(); }}>Remove</button></div>
		${findings.length > 0 && html`<ul class="trouble">${findings.map((f) => html`<li key=${f.text}>${f.text}</li>`)}</ul>`}
		${file ? html`<${FileFields} doc=${doc} file=${box} act=${act} />` : html`<${TaskFields} doc=${doc} task=${box} act=${act} />`}</form></aside>`;
}
