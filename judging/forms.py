from django import forms


class GradeForm(forms.Form):
    grade = forms.IntegerField(
        min_value=0,
        max_value=4,
        error_messages={
            "required": "Choose a grade from 0 to 4.",
            "invalid": "A grade is a whole number from 0 to 4.",
            "min_value": "A grade is 0 or more.",
            "max_value": "A grade is 4 or less.",
        },
    )


class ReviewForm(forms.Form):
    decision = forms.ChoiceField(choices=[("extend", "extend"), ("close", "close")])
    reason = forms.CharField(required=False, max_length=1000)
