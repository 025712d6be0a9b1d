// One field of an agreement: a control by its form, what it is for, what is wrong with it.
import { html } from './html.js';

const NUMBERS = ['number', 'bound'];

function Choice({ field, value, meant, describedBy, invalid, onChange }) {
	const words = field.form === 'yes' ? ['true', 'false'] : field.choices;
	return html`<select id=${`f-${field.key}`} value=${value} aria-describedby=${describedBy} aria-invalid=${invalid} onChange=${(e) => onChange(e.target.value)}>
		<option value="">${meant ? `not given: ${meant}` : 'not given'}</option>${value && !words.includes(value) && html`<option value=${value}>${value}</option>`}
		${words.map((w) => html`<option key=${w} value=${w}>${w}</option>`)}</select>`;
}

function Line({ field, value, meant, describedBy, invalid, onChange }) {
	return html`<input id=${`f-${field.key}`} value=${value} placeholder=${meant} aria-describedby=${describedBy} aria-invalid=${invalid} autocomplete="off" spellcheck=${false}
		inputmode=${NUMBERS.includes(field.form) ? 'numeric' : undefined} onInput=${(e) => onChange(e.target.value)} />`;
}

export const has = (field, type) => field.form !== 'other' && field.types.includes(type);

// findings: those of this field; meant: what it means where it is not given
export function Field({ field, value, meant, findings, onChange }) {
	const control = field.form === 'choice' || field.form === 'yes' ? Choice : Line;
	const hint = `h-${field.key}`, wrong = `w-${field.key}`;
	return html`<div class="field"><label for=${`f-${field.key}`}>${field.key}</label>
		<${control} field=${field} value=${value} meant=${meant} invalid=${findings.length ? 'true' : 'false'} onChange=${onChange}
			describedBy=${findings.length ? `${wrong} ${hint}` : hint} />
		${findings.length > 0 && html`<p class="bad" id=${wrong}>${findings.map((f) => f.text).join('; ')}</p>`}
		<p class="quiet" id=${hint}>${field.prose}</p></div>`;
}
