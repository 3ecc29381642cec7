FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ROOFTREE_DATA_DIR=/data ROOFTREE_MANIFEST_STATIC=true
RUN useradd --create-home rooftree && mkdir /data && chown rooftree /data
WORKDIR /app
COPY requirements/base.txt requirements/base.txt
RUN pip install --no-cache-dir --require-hashes -r requirements/base.txt
COPY . .
RUN ROOFTREE_SECRET_KEY=unused ROOFTREE_DATA_DIR=/tmp/build python manage.py collectstatic --noinput && rm -r /tmp/build
USER rooftree
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000", "--no-worker"]
